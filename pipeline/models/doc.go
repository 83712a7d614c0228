// Package models knows the windows and the prices of language models. Its
// source is the public model map of LiteLLM, model_prices_and_context_window.
//
// A [Map] is immutable. It comes from the document itself ([Load]), from its
// own compact text ([Parse]), or from the binary ([Snapshot]). The snapshot is
// made from the file model_prices_and_context_window_backup.json of the PyPI
// package litellm 1.110.2 (MIT licence) by
//
//	go generate ./pipeline/models
//
// which fetches the package when the version pinned in internal/snapshot is
// not the one in the file, and otherwise does nothing. It holds the models
// that chat, complete or answer (mode chat, completion or responses) with
// their names and numbers and nothing else. A [Refresher] fetches a newer
// document in the background where an operator wants that.
//
// # Finding a model
//
// The map spells an id in its own way, clients in many others. [Map.Find]
// tries an id as it is, then what is left of it when the parts that do not
// name the model are taken away one by one, so that the first match is the
// longest one:
//
//	case and white space                   Claude-Sonnet-4-5
//	path segments in front                 models/…, openrouter/anthropic/…, arn:…:inference-profile/…
//	the region of a Bedrock profile        us. eu. apac. global. us-gov.
//	what follows a colon, an at, a bracket :free @20250929 @default [1m] -v1:0
//	a date or revision                     -20250929 -2025-08-07 -0613 -2411 -05-06 -001
//	a last word                            -latest -preview -exp
//
// At each length a full id of the map counts first, with and without the path
// in front, then the model's name: the last path segment without region and
// vendor, dots written as dashes. The ids of a map that share a name rank by
// whether window and price are known, whether they are those of the model's
// maker, and how much had to be taken away from them too. Of a maker's ids
// that rank alike the newest counts, of anybody else's the middle one by
// window and price, since single entries of the document may be wrong. A name
// is never completed: gpt-4-vision is not gpt-4. What is left over is unknown.
//
// The result depends on the entries alone, never on their order.
//
// # Generations
//
// [Map.Digest] covers what Find answers for every id as far as an edit may
// depend on it: windows and whether a provider caches. Prices are left out,
// so that a new price does not start a new generation.
//
// # Cost
//
// Measured on 2 cores of an AMD EPYC virtual machine, Go 1.26.8, best of 3:
//
//	go test -run xxx -bench . -count 3 ./pipeline/models
//
//	Snapshot   6.2 ms   3787 models from 258 KB of text, 2.8 MB allocated
//	Load      11.2 ms   the same models as JSON, 0.9 MB
//	Digest     4.5 ms   once per map, when it is first asked for
//	Find        61 ns   an id of the map
//	Find       1.6 µs   openrouter/anthropic/claude-sonnet-4.5:beta
//	Find       0.5 µs   an id that is not known
package models
