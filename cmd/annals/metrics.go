package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"annals/handlers/workers/remotes"
)

// gauges are figures that are read when they are asked for.
type gauges []gauge

type gauge struct {
	name, help string
	read       func() float64
}

// Describe implements [prometheus.Collector].
func (g gauges) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(g, ch) }

// Collect implements [prometheus.Collector].
func (g gauges) Collect(ch chan<- prometheus.Metric) {
	for _, one := range g {
		desc := prometheus.NewDesc(one.name, one.help, nil, nil)
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, one.read())
	}
}

// remoteFigures tell of the server of each remote schema.
type remoteFigures struct{ watch *remotes.Watch }

// Describe implements [prometheus.Collector].
func (r remoteFigures) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range r.descs() {
		ch <- desc
	}
}

func (remoteFigures) descs() [3]*prometheus.Desc {
	of := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, []string{"remote_schema"}, nil)
	}
	return [...]*prometheus.Desc{
		of("annals_remote_schema_age_seconds", "Time since the types of a remote schema were last known to be those of its server."),
		of("annals_remote_schema_away", "1 if the server of a remote schema gave no answer when it was last asked for its types."),
		of("annals_remote_schema_changed", "1 if the server of a remote schema has other types than those that are kept."),
	}
}

// Collect implements [prometheus.Collector].
func (r remoteFigures) Collect(ch chan<- prometheus.Metric) {
	for _, s := range r.watch.Statuses() {
		for i, value := range [...]float64{max(0, time.Since(s.Confirmed).Seconds()), oneIf(s.Away), oneIf(s.Changed)} {
			ch <- prometheus.MustNewConstMetric(r.descs()[i], prometheus.GaugeValue, value, s.Name)
		}
	}
}

func oneIf(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
