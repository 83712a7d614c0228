package main

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"time"
)

func TestArrivalsSeesEveryEventHoweverItIsCut(t *testing.T) {
	t.Parallel()
	p := newProvider(5, 0)
	for name, r := range map[string]io.Reader{
		"whole": bytes.NewReader(p.whole), "bytes": iotest.OneByteReader(bytes.NewReader(p.whole)), "halves": iotest.HalfReader(bytes.NewReader(p.whole)),
	} {
		came, err := p.arrivals(r)
		if err != nil || len(came) != 5 {
			t.Errorf("%s: %d events, %v", name, len(came), err)
		}
		for i := 1; i < len(came); i++ {
			if came[i].Before(came[i-1]) {
				t.Errorf("%s: event %d came before the one in front of it", name, i)
			}
		}
	}
}

func TestArrivalsSeesLoss(t *testing.T) {
	t.Parallel()
	p := newProvider(5, 0)
	second := len(p.parts[0])
	changed := bytes.Replace(p.whole, []byte("piece 2"), []byte("piece 3"), 1)
	for name, body := range map[string][]byte{
		"nothing":          nil,
		"cut":              p.whole[:len(p.whole)-1],
		"an event missing": append(bytes.Clone(p.whole[:second]), p.whole[second+len(p.parts[1]):]...),
		"changed":          changed,
		"more":             append(bytes.Clone(p.whole), '\n'),
	} {
		if _, err := p.arrivals(bytes.NewReader(body)); !errors.Is(err, errLoss) {
			t.Errorf("%s: %v, want a loss", name, err)
		}
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	list := make([]time.Duration, 100)
	for i := range list {
		list[i] = time.Duration(99 - i)
	}
	if p50, p99 := quantile(list, .5), quantile(list, .99); p50 != 50 || p99 != 99 {
		t.Errorf("p50 %d, p99 %d", p50, p99)
	}
	if one := quantile([]time.Duration{7}, .99); one != 7 {
		t.Errorf("the only value: %d", one)
	}
}
