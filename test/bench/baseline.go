package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
)

// baseline is an ext_proc server that speaks to Envoy in the same form as
// context-guru and does nothing with what it reads: the floor of what any
// server of this form costs.
type baseline struct {
	extprocv3.UnimplementedExternalProcessorServer
	// same returns the body it got, as a body of the same size; otherwise the
	// body is declared unchanged.
	same bool
}

// serveBaseline runs a baseline until it is told to stop. kind is noop or same.
func serveBaseline(kind, addr string, maxBody int) error {
	if kind != "noop" && kind != "same" {
		return fmt.Errorf("baseline %q is not known: noop or same", kind)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	g := grpc.NewServer(grpc.MaxRecvMsgSize(maxBody + 1<<20))
	extprocv3.RegisterExternalProcessorServer(g, &baseline{same: kind == "same"})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		g.Stop()
	}()
	return g.Serve(l)
}

func (b *baseline) Process(st grpc.BidiStreamingServer[extprocv3.ProcessingRequest, extprocv3.ProcessingResponse]) error {
	for {
		m, err := st.Recv()
		if err != nil {
			return nil // Envoy ended the exchange
		}
		if err := st.Send(b.answer(m)); err != nil {
			return err
		}
	}
}

func (b *baseline) answer(m *extprocv3.ProcessingRequest) *extprocv3.ProcessingResponse {
	switch r := m.GetRequest().(type) {
	case *extprocv3.ProcessingRequest_RequestHeaders:
		return &extprocv3.ProcessingResponse{
			Response:     &extprocv3.ProcessingResponse_RequestHeaders{RequestHeaders: &extprocv3.HeadersResponse{}},
			ModeOverride: &filterv3.ProcessingMode{RequestBodyMode: filterv3.ProcessingMode_BUFFERED},
		}
	case *extprocv3.ProcessingRequest_RequestBody:
		reply := &extprocv3.BodyResponse{}
		if body := r.RequestBody.GetBody(); b.same {
			reply.Response = &extprocv3.CommonResponse{
				HeaderMutation: &extprocv3.HeaderMutation{SetHeaders: []*corev3.HeaderValueOption{{
					Header:       &corev3.HeaderValue{Key: "content-length", RawValue: []byte(strconv.Itoa(len(body)))},
					AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
				}}},
				BodyMutation: &extprocv3.BodyMutation{Mutation: &extprocv3.BodyMutation_Body{Body: body}},
			}
		}
		return &extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_RequestBody{RequestBody: reply}}
	case *extprocv3.ProcessingRequest_ResponseHeaders:
		return &extprocv3.ProcessingResponse{
			Response: &extprocv3.ProcessingResponse_ResponseHeaders{ResponseHeaders: &extprocv3.HeadersResponse{
				Response: &extprocv3.CommonResponse{HeaderMutation: &extprocv3.HeaderMutation{RemoveHeaders: []string{"content-length"}}},
			}},
			ModeOverride: &filterv3.ProcessingMode{
				RequestBodyMode: filterv3.ProcessingMode_BUFFERED, ResponseBodyMode: filterv3.ProcessingMode_FULL_DUPLEX_STREAMED,
				ResponseTrailerMode: filterv3.ProcessingMode_SEND,
			},
		}
	case *extprocv3.ProcessingRequest_ResponseBody:
		return &extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ResponseBody{ResponseBody: &extprocv3.BodyResponse{
			Response: &extprocv3.CommonResponse{BodyMutation: &extprocv3.BodyMutation{Mutation: &extprocv3.BodyMutation_StreamedResponse{
				StreamedResponse: &extprocv3.StreamedBodyResponse{Body: r.ResponseBody.GetBody(), EndOfStream: r.ResponseBody.GetEndOfStream()},
			}}},
		}}}
	default:
		return &extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ResponseTrailers{ResponseTrailers: &extprocv3.TrailersResponse{}}}
	}
}
