package main

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/replay/bill"
	"github.com/contextguru/contextguru/pipeline/models"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// openAIReads are the ratios of tokens read from the cache that OpenAI has for
// its generations of models: 0.5 up to GPT-4o, 0.1 since GPT-5. Which of them a
// conversation will be billed by is a matter of time, so both are shown.
func openAIReads() []float64 { return []float64{0.5, 0.1} }

// prices returns the ways to price a request: as the models that were named, or
// as the one it is for.
func prices(known *models.Map, names string) func(wire.Dialect, string) []bill.Price {
	if names != "" {
		var named []bill.Price
		for name := range strings.SplitSeq(names, ",") {
			p := priceOf(known, "", name)
			p.Name = fmt.Sprintf("%s, %s", name, p.Name)
			named = append(named, p)
		}
		return func(wire.Dialect, string) []bill.Price { return named }
	}
	return func(d wire.Dialect, model string) []bill.Price {
		by := maker(d)
		p := priceOf(known, by, model)
		if by != "openai" || p.Write != 1 {
			p.Name = by + ", " + p.Name
			return []bill.Price{p}
		}
		var out []bill.Price
		for _, read := range openAIReads() {
			p.Read = read
			p.Name = fmt.Sprintf("openai, cache read %.4gx", read)
			out = append(out, p)
		}
		return out
	}
}

// priceOf returns the price of a model, named by its ratios.
func priceOf(known *models.Map, provider, model string) bill.Price {
	c := known.Caches(provider, model)
	p := bill.Price{Name: fmt.Sprintf("cache read %.4gx", c.Read), Read: c.Read, Write: c.Write}
	if c.Write != 1 {
		p.Name += fmt.Sprintf(", write %.4gx", c.Write)
	}
	if found, ok := known.Find(model); ok {
		p.Input = found.Input.USD
	}
	return p
}

// maker is whose models a dialect is mostly used for.
func maker(d wire.Dialect) string {
	switch d {
	case wire.AnthropicMessages, wire.AnthropicPlatform:
		return "anthropic"
	case wire.Gemini:
		return "gemini"
	case wire.BedrockConverse:
		return "bedrock"
	default:
		return "openai"
	}
}

// progress says now and then how far a long replay is.
type progress struct {
	done  atomic.Int64
	total int
	ended chan struct{}
	over  chan struct{}
}

// progressEvery is how often.
const progressEvery = 5 * time.Second

func newProgress(e env, total int) *progress {
	p := &progress{total: total, ended: make(chan struct{}), over: make(chan struct{})}
	go func() {
		defer close(p.over)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-p.ended:
				return
			case <-tick.C:
				e.complain("replay", "%d of %d conversations", p.done.Load(), p.total)
			}
		}
	}()
	return p
}

func (p *progress) step() { p.done.Add(1) }

// stop ends it, once and again.
func (p *progress) stop() {
	select {
	case <-p.ended:
	default:
		close(p.ended)
	}
	<-p.over
}
