package deliveries

// A lane is what is claimed, limited and paused on its own.
const scheduledLane = "scheduled"

// EventLane is the lane of an event trigger's deliveries.
func EventLane(trigger string) string { return "event:" + trigger }

// CronLane is the lane of a cron trigger's fires.
func CronLane(trigger string) string { return "cron:" + trigger }

// The kinds of deliveries.
const (
	kindEvent     = "event"
	kindManual    = "manual"
	kindTest      = "test"
	kindCron      = "cron"
	kindScheduled = "scheduled"
)
