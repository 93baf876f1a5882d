package deliveries

import "annals/domain/delivery"

// A lane is what is claimed, limited and paused on its own.
const scheduledLane = "scheduled"

// eventLane is the lane of an event trigger's deliveries.
func eventLane(trigger string) string { return "event:" + trigger }

// CronLane is the lane of a cron trigger's fires.
func CronLane(trigger string) string { return "cron:" + trigger }

// The kinds of deliveries that are told of here, as the tables have them.
const (
	kindEvent     = string(delivery.Event)
	kindManual    = string(delivery.Manual)
	kindTest      = string(delivery.Test)
	kindCron      = string(delivery.Cron)
	kindScheduled = string(delivery.Scheduled)
)
