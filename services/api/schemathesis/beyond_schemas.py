"""What Schemathesis must not blame the API for.

It takes every request that fits the schemas for one that must be accepted. Whether these are depends on what
happened before them, which no schema can say; any other refusal of a valid request is a failure.
"""

import schemathesis
from schemathesis.openapi.checks import RejectedPositiveData

BEYOND_SCHEMAS = {
    # A cursor is any text, and the server's signature for this list with these filters.
    "cursor_invalid",
    # The key was sent before, with another body.
    "idempotency_key_reused",
    # The state that the order is in does not lead to the one asked for.
    "order_state_impossible",
}


@schemathesis.hook
def filter_failure(context, failure, case, response):
    if not isinstance(failure, RejectedPositiveData):
        return True
    return response.json()["error"]["code"] not in BEYOND_SCHEMAS
