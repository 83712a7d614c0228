package extproc

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/klauspost/compress/zstd"

	"github.com/contextguru/contextguru/pipeline/wire"
)

// head gives access to a message's headers by lower-case name.
type head []*corev3.HeaderValue

// get returns a header's first value, or the empty string.
func (h head) get(name string) string {
	for _, v := range h {
		if v.GetKey() == name {
			return value(v)
		}
	}
	return ""
}

// all returns a header's values joined by commas. Who a request belongs to is
// judged by all of them: a client must not be able to put its own value in
// front of the one the gateway adds.
func (h head) all(name string) string {
	joined := ""
	for _, v := range h {
		if v.GetKey() != name {
			continue
		}
		if joined != "" {
			joined += ","
		}
		joined += value(v)
	}
	return joined
}

func (h head) has(name string) bool {
	for _, v := range h {
		if v.GetKey() == name {
			return true
		}
	}
	return false
}

func value(v *corev3.HeaderValue) string {
	if raw := v.GetRawValue(); len(raw) > 0 {
		return string(raw)
	}
	return v.GetValue()
}

// optOut says why an exchange does not concern us.
type optOut string

// Reasons to let an exchange alone. Those up to optNotJSON are ordinary
// traffic; the others are LLM requests that we must not or cannot read.
const (
	optIn        optOut = ""
	optNotPost   optOut = "not_post"
	optPath      optOut = "path"
	optNotJSON   optOut = "content_type"
	optUpgrade   optOut = "upgrade"
	optEmpty     optOut = "empty"
	optNoLength  optOut = "no_content_length"
	optTooLarge  optOut = "too_large"
	optSignature optOut = "body_signature"
	optEncoding  optOut = "content_encoding"
	optOurs      optOut = "continuation" // a request of our own, on its way through the gateway again
	optBypass    optOut = "bypass"       // asked for by the client
)

// request is what the headers tell about an exchange.
type request struct {
	dialect  wire.Dialect
	model    string // named in the path, or empty
	aside    bool   // the path asks about a conversation
	binary   bool   // the path is answered in binary
	length   int64  // of the body on the wire
	encoding string // content coding we can decode, or empty
}

// inspect decides whether an exchange concerns us. bodyCap is in bytes.
func inspect(h head, endOfStream bool, bodyCap int64) (request, optOut) {
	var r request
	if h.get(":method") != http.MethodPost {
		return r, optNotPost
	}
	dialect, ok := wire.Route(h.get(":path"))
	if !ok {
		return r, optPath
	}
	path := h.get(":path")
	r.dialect, r.model, r.aside, r.binary = dialect, wire.ModelInPath(path), wire.Aside(path), wire.Binary(path)
	switch {
	case !isJSON(h.get("content-type")):
		return r, optNotJSON
	case h.has("upgrade"):
		return r, optUpgrade
	case endOfStream:
		return r, optEmpty
	case signed(h):
		return r, optSignature
	}
	// Without a length Envoy cannot tell before buffering that a body is over
	// its limit, and a body over the limit hangs the exchange.
	length, err := strconv.ParseInt(h.get("content-length"), 10, 64)
	switch {
	case err != nil:
		return r, optNoLength
	case length == 0:
		return r, optEmpty
	case length > bodyCap:
		return r, optTooLarge
	}
	r.length = length
	switch coding := strings.ToLower(strings.TrimSpace(h.get("content-encoding"))); coding {
	case "", "identity":
	case "gzip", "x-gzip", "zstd":
		r.encoding = coding
	default:
		return r, optEncoding
	}
	return r, optIn
}

func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	return media == "application/json" || strings.HasSuffix(media, "+json")
}

// signed reports whether a header vouches for the body's bytes, so that
// changing them would make the provider refuse the request.
func signed(h head) bool {
	for _, v := range h {
		if v.GetKey() == "authorization" && strings.HasPrefix(value(v), "AWS4-") {
			return true
		}
	}
	return slices.ContainsFunc([]string{
		"x-amz-content-sha256", "content-digest", "repr-digest", "digest", "content-md5",
		"signature", "signature-input",
	}, h.has)
}

// errTooLarge reports a body that does not fit once decoded.
var errTooLarge = errors.New("decoded body is over the limit")

// decode undoes a content coding. At most limit bytes come out, whatever the
// body claims, so a small body cannot unfold into a large one.
func decode(coding string, body []byte, limit int64) ([]byte, error) {
	var from io.Reader
	switch coding {
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("read gzip body: %w", err)
		}
		from = z
	case "zstd":
		z, err := zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(8<<20)) // 8 MiB, the window RFC 8878 asks decoders to support
		if err != nil {
			return nil, fmt.Errorf("read zstd body: %w", err)
		}
		defer z.Close()
		from = z
	default:
		return nil, fmt.Errorf("content coding %q is not known", coding)
	}
	out, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err != nil {
		return nil, fmt.Errorf("decode %s body: %w", coding, err)
	}
	if int64(len(out)) > limit {
		return nil, errTooLarge
	}
	return out, nil
}
