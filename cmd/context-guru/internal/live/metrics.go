package live

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/contextguru/contextguru/pipeline/models"
)

// Observe exports the counts. They are read when a reader asks.
func (l *Live) Observe(meter metric.Meter) error {
	var errs []error
	counter := func(name, unit, what string) metric.Int64ObservableCounter {
		c, err := meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(what))
		errs = append(errs, err)
		return c
	}
	gauge := func(name, what string) metric.Int64ObservableGauge {
		g, err := meter.Int64ObservableGauge(name, metric.WithUnit("{generation}"), metric.WithDescription(what))
		errs = append(errs, err)
		return g
	}
	live := gauge("contextguru.generation.live", "Generations that conversations anywhere may be pinned to.")
	loaded := gauge("contextguru.generation.loaded", "Generations this process has built.")
	pins := counter("contextguru.generation.pins", "{pin}", "Pins found or written in the store, and those that could not be written behind a request.")
	breaks := counter("contextguru.generation.breaks", "{exchange}", "Exchanges that may have got another generation than their conversation began with, by reason.")
	reloads := counter("contextguru.config.reloads", "{reload}", "Reloads of the configuration, by outcome.")
	refreshes := counter("contextguru.models.refreshes", "{refresh}", "Refreshes of the model map, by outcome.")
	_, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := l.manager.Stats()
		o.ObserveInt64(live, int64(s.Live))
		o.ObserveInt64(loaded, int64(s.Loaded))
		each := func(c metric.Int64Observable, key string, counts map[string]uint64) {
			for value, n := range counts {
				o.ObserveInt64(c, int64(n), metric.WithAttributes(attribute.String(key, value)))
			}
		}
		each(pins, "outcome", map[string]uint64{"stored": s.Pinned, "unwritten": s.Unwritten})
		each(breaks, "reason", map[string]uint64{"lost": s.Lost, "unavailable": s.Unavailable, "unloaded": s.Unloaded, "late": s.Late})
		each(reloads, "outcome", map[string]uint64{
			"adopted": l.reloads.adopted.Load(), "unchanged": l.reloads.unchanged.Load(), "refused": l.reloads.refused.Load(),
		})
		each(refreshes, "outcome", refreshed(l.refresh.Stats()))
		return nil
	}, live, loaded, pins, breaks, reloads, refreshes)
	return errors.Join(append(errs, err)...)
}

func refreshed(s models.RefreshStats) map[string]uint64 {
	return map[string]uint64{"adopted": s.Adopted, "unchanged": s.Unchanged, "failed": s.Failed, "refused": s.Refused}
}

const (
	// unknownMost bounds the names of unknown models used as labels: they come
	// from the client, and every new one is a new time series.
	unknownMost = 32
	// nameMost bounds such a name, in bytes.
	nameMost = 64
)

// Unknown returns what counts the requests whose model has no window. The
// context is that of the process.
func Unknown(ctx context.Context, meter metric.Meter) (func(model string), error) {
	c, err := meter.Int64Counter("contextguru.models.unknown", metric.WithUnit("{exchange}"),
		metric.WithDescription("Exchanges whose model is in no map, so that fractions of its window count as unset."))
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	options := map[string]metric.AddOption{}
	label := func(model string) metric.AddOption {
		return metric.WithAttributes(attribute.String("gen_ai.request.model", model))
	}
	other, none := label("other"), label("")
	return func(model string) {
		option := other
		mu.Lock()
		switch known, ok := options[model]; {
		case ok:
			option = known
		case model == "":
			option = none
		case len(options) < unknownMost && printable(model):
			option = label(model)
			options[model] = option
		}
		mu.Unlock()
		c.Add(ctx, 1, option)
	}, nil
}

// printable reports whether a name may be a label.
func printable(name string) bool {
	for i := range len(name) {
		if name[i] <= ' ' || name[i] > '~' {
			return false
		}
	}
	return len(name) <= nameMost
}
