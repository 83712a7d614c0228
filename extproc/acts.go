package extproc

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/contextguru/contextguru/pipeline"
)

// maxLabels bounds the labels that are kept. Components and their reasons are
// constants, a handful for each.
const maxLabels = 4096

// label names a series: of a component, or of one of its reasons.
type label struct {
	component string
	reason    pipeline.Reason
}

// series is a label as the instruments take it. Every new output has an act for
// every component, so with a long pipeline making these anew would be most of
// what counting costs.
type series struct {
	add    []metric.AddOption
	record []metric.RecordOption
}

func newSeries(l label) *series {
	attrs := []attribute.KeyValue{attribute.String("component", l.component)}
	if l.reason != "" {
		attrs = append(attrs, attribute.String("reason", string(l.reason)))
	}
	set := metric.WithAttributeSet(attribute.NewSet(attrs...))
	return &series{[]metric.AddOption{set}, []metric.RecordOption{set}}
}

// labels remembers series. The zero value is ready.
type labels struct {
	mu   sync.RWMutex
	made map[label]*series
}

func (l *labels) of(component string, reason pipeline.Reason) *series {
	key := label{component, reason}
	l.mu.RLock()
	s := l.made[key]
	l.mu.RUnlock()
	if s != nil {
		return s
	}
	s = newSeries(key)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil {
		l.made = map[label]*series{}
	}
	if len(l.made) < maxLabels {
		l.made[key] = s
	}
	return s
}

// act counts what one component did.
func (t *telemetry) act(ctx context.Context, act *pipeline.Act) {
	name := t.labels.of(act.Component, "")
	t.component.Record(ctx, act.Took.Seconds(), name.record...)
	switch {
	case act.Acted:
		t.edits.Add(ctx, 1, name.add...)
		t.saved.Add(ctx, int64(act.Before-act.After), name.add...)
	case act.Fault():
		t.faults.Add(ctx, 1, t.labels.of(act.Component, act.Reason).add...)
	default:
		t.declines.Add(ctx, 1, t.labels.of(act.Component, act.Reason).add...)
	}
}
