package fakellm

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxInflated bounds what a compressed request body may grow to.
	maxInflated = 256 << 20
	// maxChoices is the largest n that OpenAI's API reference allows.
	maxChoices = 128
)

// problem is a reason to refuse a request, with the status a provider gives it.
type problem struct {
	status int
	text   string
}

// head is what a generation request says at its top level.
type head struct {
	model         string
	stream        bool
	n             int
	includeUsage  bool
	noObfuscation bool
	tools         jsontext.Value
}

// keeper writes into a buffer until a limit, then forgets everything; it
// hashes all of it.
type keeper struct {
	buf   *bytes.Buffer
	limit int64
	size  int64
	sum   hash.Hash
}

func (k *keeper) Write(p []byte) (int, error) {
	k.size += int64(len(p))
	k.sum.Write(p)
	if k.size <= k.limit {
		k.buf.Write(p)
	} else {
		k.buf.Reset()
	}
	return len(p), nil
}

func (k *keeper) digest() string { return hex.EncodeToString(k.sum.Sum(nil)) }

// readBody reads the body into the record. For generation requests it returns
// the decompressed body, valid until release is called, and the reason to refuse it.
func (s *Server) readBody(r *http.Request, rec *Request) (plain []byte, release func(), bad *problem) {
	buf, _ := s.buffers.Get().(*bytes.Buffer)
	if buf == nil {
		buf = new(bytes.Buffer)
	}
	release = func() {}
	k := &keeper{buf: buf, limit: s.bodyLimit, sum: sha256.New()}
	if rec.Kind != KindOther {
		k.limit = math.MaxInt64
	}
	if n := r.ContentLength; n > 0 && n <= k.limit && n <= defaultBodyLimit {
		buf.Grow(int(n) + bytes.MinRead)
	}
	if _, err := io.Copy(k, r.Body); err != nil {
		rec.BodyError = err.Error()
	}
	rec.Size, rec.SHA256, rec.Trailer = k.size, k.digest(), r.Trailer.Clone()
	if k.size <= s.bodyLimit {
		rec.Body = buf.Bytes()
	} else {
		release = func() {
			buf.Reset()
			s.buffers.Put(buf)
		}
	}
	if rec.BodyError != "" || rec.Kind == KindOther {
		return buf.Bytes(), release, nil
	}
	if plain, bad = decompress(r.Header.Get("Content-Encoding"), buf.Bytes()); bad == nil {
		bad = readHead(rec, plain)
	}
	return plain, release, bad
}

func decompress(encoding string, body []byte) ([]byte, *problem) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return body, nil
	case "gzip":
	default:
		return nil, &problem{http.StatusUnsupportedMediaType, fmt.Sprintf("content-encoding %q: send gzip or none", encoding)}
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, &problem{http.StatusBadRequest, fmt.Sprintf("gzip body: %v", err)}
	}
	plain, err := io.ReadAll(io.LimitReader(z, maxInflated+1))
	switch {
	case err != nil:
		return nil, &problem{http.StatusBadRequest, fmt.Sprintf("gzip body: %v", err)}
	case len(plain) > maxInflated:
		return nil, &problem{http.StatusRequestEntityTooLarge, fmt.Sprintf("gzip body: more than %d bytes decompressed", maxInflated)}
	}
	return plain, nil
}

// readHead fills in what the body asks for.
func readHead(rec *Request, plain []byte) *problem {
	h, err := skim(plain)
	if err != nil {
		return &problem{http.StatusBadRequest, fmt.Sprintf("request body: %v", err)}
	}
	if h.model != "" {
		rec.Model = h.model
	}
	rec.Stream = h.stream
	if strings.HasSuffix(rec.Path, ":streamRawPredict") {
		rec.Stream = true
	}
	switch {
	case strings.HasSuffix(rec.Path, "/invoke"), rec.Kind == KindConverse:
		rec.Stream = false
	case rec.Kind == KindGemini:
		rec.Stream = strings.HasSuffix(rec.Path, ":streamGenerateContent")
	}
	rec.head = h
	return nil
}

// skim reads the top level of a request and checks that the rest is JSON.
// Repeated names and broken Unicode pass: only syntax is judged, and the last
// of two values counts, as with most servers.
func skim(body []byte) (head, error) {
	h := head{n: 1}
	opts := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), opts...)
	if kind := dec.PeekKind(); kind != '{' {
		return h, errors.New("want a JSON object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return h, err
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return h, err
		}
		if err := h.member(dec, name.String(), opts); err != nil {
			return h, err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return h, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return h, fmt.Errorf("more than one JSON value, the second at byte %d", dec.InputOffset())
	}
	return h, nil
}

// member reads one member of the top level whose name was just read.
func (h *head) member(dec *jsontext.Decoder, name string, opts []jsontext.Options) error {
	var target any
	var options struct {
		IncludeUsage       bool  `json:"include_usage"`
		IncludeObfuscation *bool `json:"include_obfuscation"`
	}
	switch name {
	case "model":
		target = &h.model
	case "stream":
		target = &h.stream
	case "n":
		target = &h.n
	case "stream_options":
		target = &options
	case "tools": // Responses repeats them
	default:
		return dec.SkipValue()
	}
	value, err := dec.ReadValue()
	if err != nil || value.Kind() == 'n' { // null is as good as absent
		return err
	}
	if name == "tools" {
		h.tools = value.Clone()
		return nil
	}
	if err := json.Unmarshal(value, target, json.JoinOptions(opts...)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if h.n < 1 || h.n > maxChoices {
		return fmt.Errorf("n: %d: want 1 to %d", h.n, maxChoices)
	}
	if name == "stream_options" {
		h.includeUsage = options.IncludeUsage
		h.noObfuscation = options.IncludeObfuscation != nil && !*options.IncludeObfuscation
	}
	return nil
}
