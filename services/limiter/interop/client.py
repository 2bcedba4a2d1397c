"""Asks a limiter from Python: client.py ADDRESS

Reads a ShouldAllowRequest as JSON from each line of standard input and prints a line of JSON for each answer; a status
other than OK is an answer too. The folder of the interface definitions, compiled when it runs, is on PYTHONPATH.
"""

import json
import sys

import grpc
from google.protobuf.json_format import MessageToDict

DEADLINE_S = 10

messages, services = grpc.protos_and_services("weir/v1/rate_limit.proto")


def ask(limiter, request):
    try:
        response = limiter.ShouldAllow(messages.ShouldAllowRequest(**request), timeout=DEADLINE_S)
    except grpc.RpcError as error:
        number, _ = error.code().value
        return {"code": number, "details": error.details()}
    return {"code": 0, "details": "", "response": MessageToDict(response)}


with grpc.insecure_channel(sys.argv[1]) as channel:
    limiter = services.RateLimitStub(channel)
    for line in sys.stdin:
        print(json.dumps(ask(limiter, json.loads(line))))
