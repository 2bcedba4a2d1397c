import { errorCodes } from '../http/error-codes.ts'

const catalogue = Object.entries(errorCodes)
  .toSorted(([, one], [, other]) => one.status - other.status)
  .map(([code, { status, description }]) => `| ${status} | \`${code}\` | ${description} |`)

/** What holds for all of the API, in CommonMark. */
export const introduction = `
## Compatibility

Within \`/v1\` nothing is taken away and nothing changes its type; parameters that may be left out, fields of answers, states
and error codes may be added. Ignore fields that you do not know, and take an error code that you do not know by its status.

## Who you are

Send an API key as \`Authorization: Bearer <key>\`. Without one you may read the public demo orders, and are known by your
address. A credential that is wrong or malformed is refused with 401 on every path.

## Rate limits

Every request counts, whatever becomes of it. Answers say what is left of your quota in \`RateLimit-Limit\`,
\`RateLimit-Remaining\` and \`RateLimit-Reset\` (seconds until it is whole again), and in the structured fields \`RateLimit\` and
\`RateLimit-Policy\` of draft-ietf-httpapi-ratelimit-headers; answers to what nobody limits, such as this document, do not have
them. A request too many is refused with 429; once \`Retry-After\` has passed, the next one is let in.

## Lists

A list comes in pages: \`page.has_more\` says whether there is another, and \`page.next_cursor\` is the \`cursor\` to ask for it
with, beside the same filters. What is created or deleted meanwhile makes no other entry appear twice or not at all.

## Requests

Input is taken as it is sent: a field or parameter that is not described, given twice or of another type is refused with 400,
a value of the right type that cannot be with 422. HEAD answers as GET does, without the body.

## Errors

An error is \`{"error":{"code","message","field"}}\` with one of these codes, which are stable; the message is for people and may
be reworded; \`field\` is the dotted path of the first input at fault, as in \`items.0.quantity\`, if there is one. (The 429 has a
body of its own.) A path that is not described is 404, another method on one that is 405 with \`Allow\`.

| status | code | meaning |
| --- | --- | --- |
${catalogue.join('\n')}
`.trim()
