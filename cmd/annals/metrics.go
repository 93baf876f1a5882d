package main

import "github.com/prometheus/client_golang/prometheus"

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
