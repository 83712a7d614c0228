package fakellm

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/websocket"
)

// Request is a request as it was received. Its fields do not change once it is
// published by the [Server].
type Request struct {
	// ID counts the requests of a server in the order of their arrival, from 1.
	ID   int
	Kind Kind
	// Received is when the request headers had been read.
	Received time.Time
	Method   string
	Host     string
	// Target is the path with the query, as sent; Path is the decoded path.
	Target string
	Path   string
	Proto  string
	// Remote is the peer's address: equal for requests of one connection.
	Remote string
	Header http.Header
	// Trailer holds the trailers that followed the body.
	Trailer          http.Header
	TransferEncoding []string
	// ContentLength is -1 if the client declared none.
	ContentLength int64
	// Body is the exact body received; nil if it is longer than the server keeps.
	Body []byte
	// Size and SHA256 (hex) describe the body, kept or not.
	Size   int64
	SHA256 string
	// BodyError says why the body could not be read to its end; empty if it was.
	BodyError string
	// Model and Stream are what a generation request asks for.
	Model  string
	Stream bool

	head  head
	done  chan struct{}
	reply Reply
}

// Outcome is how the answer to a request ended.
type Outcome string

// The ways an answer can end.
const (
	// Complete means that everything was handed to the connection.
	Complete Outcome = "complete"
	// Cut means that a scripted fault ended it.
	Cut Outcome = "cut"
	// ClientGone means that the client, or what stands between, went away first.
	ClientGone Outcome = "client gone"
	// Closed means that the server was closed first.
	Closed Outcome = "server closed"
)

// Reply is what was sent in answer to a request.
type Reply struct {
	// Status is 0 if no headers were sent.
	Status  int
	Outcome Outcome
	// Turn is the index of the script's turn used; -1 for none.
	Turn int
	// Body is what was written; nil if it is longer than the server keeps.
	Body []byte
	// Size and SHA256 (hex) describe the body, kept or not.
	Size     int64
	SHA256   string
	Finished time.Time
}

// Reply waits until the answer has ended and returns what it was. It returns
// the context's error if that ends first.
func (r *Request) Reply(ctx context.Context) (Reply, error) {
	select {
	case <-r.done:
		return r.reply, nil
	case <-ctx.Done():
		return Reply{}, fmt.Errorf("wait for the reply to request %d: %w", r.ID, context.Cause(ctx))
	}
}

// recorder keeps the requests received, in the order in which their bodies
// were complete.
type recorder struct {
	mu      sync.Mutex
	lastID  int
	count   int
	history int // most requests kept; 0 is no bound
	kept    []*Request
	changed chan struct{} // closed and replaced with every request
}

func (c *recorder) nextID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastID++
	return c.lastID
}

func (c *recorder) add(r *Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	if c.history > 0 && len(c.kept) == c.history {
		c.kept = slices.Delete(c.kept, 0, 1)
	}
	c.kept = append(c.kept, r)
	close(c.changed)
	c.changed = make(chan struct{})
}

// Requests returns the requests received so far, oldest first, without those
// that [WithHistory] let go. A request counts as received when its body was
// read to the end, or could not be.
func (s *Server) Requests() []*Request {
	s.rec.mu.Lock()
	defer s.rec.mu.Unlock()
	return slices.Clone(s.rec.kept)
}

// Last returns the newest request, or nil.
func (s *Server) Last() *Request {
	s.rec.mu.Lock()
	defer s.rec.mu.Unlock()
	if len(s.rec.kept) == 0 {
		return nil
	}
	return s.rec.kept[len(s.rec.kept)-1]
}

// Count returns how many requests were received, kept or not.
func (s *Server) Count() int {
	s.rec.mu.Lock()
	defer s.rec.mu.Unlock()
	return s.rec.count
}

// Wait returns the requests kept as soon as at least n were received. It
// returns an error that tells how many there were if the context ends first.
func (s *Server) Wait(ctx context.Context, n int) ([]*Request, error) {
	for {
		s.rec.mu.Lock()
		count, kept, changed := s.rec.count, slices.Clone(s.rec.kept), s.rec.changed
		s.rec.mu.Unlock()
		if count >= n {
			return kept, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for %d requests, %d received: %w", n, count, context.Cause(ctx))
		}
	}
}

// Reset forgets every request, restarts the ids and takes the script back to
// its first turn. Requests still being answered keep their old ids.
func (s *Server) Reset() {
	s.rec.mu.Lock()
	s.rec.lastID, s.rec.count, s.rec.kept = 0, 0, nil
	s.rec.mu.Unlock()
	s.script.rewind()
}

// maxMessage is the largest WebSocket message that is echoed.
const maxMessage = 64 << 20

// echoBody describes a request that is none for a model.
func echoBody(rec *Request) ([][]byte, error) {
	body, err := encode(struct {
		ID     int    `json:"id"`
		Method string `json:"method"`
		Target string `json:"target"`
		Length int64  `json:"length"`
		SHA256 string `json:"sha256"`
	}{rec.ID, rec.Method, rec.Target, rec.Size, rec.SHA256})
	return [][]byte{body}, err
}

func isWebSocket(r *http.Request) bool {
	return r.ProtoMajor == 1 && r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// frame is a WebSocket message with its type.
type frame struct {
	kind byte
	data []byte
}

// echoSocket accepts a WebSocket from any origin and sends every message back
// until the client leaves or the server closes.
func (s *Server) echoSocket(ctx context.Context, w http.ResponseWriter, r *http.Request) Reply {
	codec := websocket.Codec{
		Marshal: func(v any) ([]byte, byte, error) {
			f, ok := v.(*frame)
			if !ok {
				return nil, 0, websocket.ErrNotSupported
			}
			return f.data, f.kind, nil
		},
		Unmarshal: func(data []byte, kind byte, v any) error {
			f, ok := v.(*frame)
			if !ok {
				return websocket.ErrNotSupported
			}
			f.data, f.kind = data, kind
			return nil
		},
	}
	reply := Reply{Outcome: ClientGone, Turn: -1}
	websocket.Server{
		Handshake: func(*websocket.Config, *http.Request) error { return nil },
		Handler: func(ws *websocket.Conn) {
			reply.Status = http.StatusSwitchingProtocols
			ws.MaxPayloadBytes = maxMessage
			// The handler returns at once when its connection is closed.
			stop := context.AfterFunc(ctx, func() { _ = ws.Close() })
			defer stop()
			for {
				var f frame
				if codec.Receive(ws, &f) != nil {
					break
				}
				if codec.Send(ws, &f) != nil {
					break
				}
				reply.Size += int64(len(f.data))
			}
		},
	}.ServeHTTP(w, r)
	if s.ctx.Err() != nil {
		reply.Outcome = Closed
	}
	return reply
}
