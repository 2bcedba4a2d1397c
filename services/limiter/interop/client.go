// Asks a limiter from Go. The folder of the interface definitions, compiled when it runs, is in PROTO_PATH.
//
//	client ADDRESS ask       ShouldAllow: a request as JSON on each line of standard input
//	client ADDRESS health    grpc.health.v1: the name of a component on each line
//	client ADDRESS services  grpc.reflection.v1: which services the limiter describes
//	client ADDRESS describe  grpc.reflection.v1: the name of a message on each line; answered with its fields
//
// Prints a line of JSON for each answer; a status other than OK is an answer too.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/bufbuild/protocompile"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

const deadline = 10 * time.Second

type answer struct {
	Code     codes.Code      `json:"code"`
	Details  string          `json:"details"`
	Response json.RawMessage `json:"response,omitempty"`
}

type field struct {
	Name     protoreflect.Name        `json:"name"`
	Number   protoreflect.FieldNumber `json:"number"`
	Kind     string                   `json:"kind"`
	IsMap    bool                     `json:"isMap"`
	Optional bool                     `json:"optional"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 2 {
		return errors.New("usage: client ADDRESS ask|health|services|describe")
	}
	connection, err := grpc.NewClient(arguments[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	switch arguments[1] {
	case "ask":
		return ask(ctx, connection)
	case "health":
		return health(ctx, connection)
	case "services":
		return services(ctx, connection)
	case "describe":
		return describe(ctx, connection)
	default:
		return fmt.Errorf("there is no command %q", arguments[1])
	}
}

func ask(ctx context.Context, connection *grpc.ClientConn) error {
	definitions := &protocompile.SourceResolver{ImportPaths: []string{os.Getenv("PROTO_PATH")}}
	compiler := protocompile.Compiler{Resolver: definitions}
	files, err := compiler.Compile(ctx, "weir/v1/rate_limit.proto")
	if err != nil {
		return err
	}
	shouldAllow := files[0].Services().ByName("RateLimit").Methods().ByName("ShouldAllow")
	return answerLines(func(line []byte) (proto.Message, error) {
		request := dynamicpb.NewMessage(shouldAllow.Input())
		if err := protojson.Unmarshal(line, request); err != nil {
			return nil, err
		}
		response := dynamicpb.NewMessage(shouldAllow.Output())
		return response, connection.Invoke(ctx, "/weir.v1.RateLimit/ShouldAllow", request, response)
	})
}

func health(ctx context.Context, connection *grpc.ClientConn) error {
	client := grpc_health_v1.NewHealthClient(connection)
	return answerLines(func(line []byte) (proto.Message, error) {
		return client.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: string(line)})
	})
}

func services(ctx context.Context, connection *grpc.ClientConn) error {
	response, err := reflect(ctx, connection, &grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{},
	})
	if err != nil {
		return err
	}
	for _, service := range response.GetListServicesResponse().GetService() {
		if err := printLine(service.GetName()); err != nil {
			return err
		}
	}
	return nil
}

func describe(ctx context.Context, connection *grpc.ClientConn) error {
	return eachLine(func(line []byte) error {
		message, err := describeMessage(ctx, connection, protoreflect.FullName(line))
		if err != nil {
			return err
		}
		fields := []field{}
		for index := range message.Fields().Len() {
			one := message.Fields().Get(index)
			fields = append(fields, field{one.Name(), one.Number(), one.Kind().String(), one.IsMap(), one.HasOptionalKeyword()})
		}
		return printLine(fields)
	})
}

func describeMessage(
	ctx context.Context, connection *grpc.ClientConn, name protoreflect.FullName,
) (protoreflect.MessageDescriptor, error) {
	response, err := reflect(ctx, connection, &grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: string(name)},
	})
	if err != nil {
		return nil, err
	}
	described := &descriptorpb.FileDescriptorSet{}
	for _, bytes := range response.GetFileDescriptorResponse().GetFileDescriptorProto() {
		file := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(bytes, file); err != nil {
			return nil, err
		}
		described.File = append(described.File, file)
	}
	// Refuses a description that contradicts itself, as the tools that are written in Go do.
	files, err := protodesc.NewFiles(described)
	if err != nil {
		return nil, err
	}
	found, err := files.FindDescriptorByName(name)
	if err != nil {
		return nil, err
	}
	return found.(protoreflect.MessageDescriptor), nil
}

func reflect(
	ctx context.Context, connection *grpc.ClientConn, request *grpc_reflection_v1.ServerReflectionRequest,
) (*grpc_reflection_v1.ServerReflectionResponse, error) {
	stream, err := grpc_reflection_v1.NewServerReflectionClient(connection).ServerReflectionInfo(ctx)
	if err != nil {
		return nil, err
	}
	if err := stream.Send(request); err != nil {
		return nil, err
	}
	response, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	if refusal := response.GetErrorResponse(); refusal != nil {
		return nil, status.Error(codes.Code(refusal.GetErrorCode()), refusal.GetErrorMessage())
	}
	return response, stream.CloseSend()
}

func answerLines(call func(line []byte) (proto.Message, error)) error {
	return eachLine(func(line []byte) error {
		response, err := call(line)
		called, isStatus := status.FromError(err)
		if !isStatus {
			return err
		}
		answered := answer{Code: called.Code(), Details: called.Message()}
		if err == nil {
			if answered.Response, err = protojson.Marshal(response); err != nil {
				return err
			}
		}
		return printLine(answered)
	})
}

func eachLine(act func(line []byte) error) error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if err := act(lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}

func printLine(value any) error {
	return json.NewEncoder(os.Stdout).Encode(value)
}
