import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'vitest'
import type { RawResponse } from './app.fixture.ts'
import { asList, asObject, type JsonObject, resolveIn } from './compatibility/json.ts'
import { parseTimestamp } from './http/timestamp.ts'

/** How a document describes the answers of the API that serves it. */
export const describedBy = (document: JsonObject) => {
  const resolve = resolveIn(document)
  const ajv = new Ajv2020({
    strict: false,
    formats: { 'date-time': (text: string) => parseTimestamp(text) !== undefined },
  })
  ajv.addSchema(document, 'document')

  const operations = Object.entries(asObject(document['paths'])).flatMap(([path, item]) =>
    Object.entries(asObject(item)).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation: asObject(operation),
    })),
  )

  /** Examples of bodies, each with what it is sent to. */
  const examples = operations.flatMap(({ path, method, operation }) =>
    Object.entries(asObject(asObject(operation['requestBody'])['content'])).flatMap(([type, media]) =>
      [asObject(media)['example'], ...Object.values(asObject(asObject(media)['examples']))]
        .filter((example) => example !== undefined)
        .map((example) => ({ path, method, type, example })),
    ),
  )

  const bodies = operations.flatMap(({ path, method, operation }) =>
    Object.keys(asObject(asObject(operation['requestBody'])['content'])).map((type) => ({ path, method, type })),
  )

  const responseOf = (path: string, method: string, status: number) => {
    const operation = operations.find((each) => each.path === path && each.method === method)?.operation
    const response = asObject(operation?.['responses'])[status]
    if (response === undefined) expect.fail(`${method} ${path} does not describe a ${status}`)
    return resolve(response)
  }

  const schemaFits = (schema: JsonObject, value: unknown) => {
    const local = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"document#/components'))
    const validate = ajv.compile(local)
    return { fits: validate(value), errors: validate.errors }
  }

  /** Fails unless the answer has the described headers and body; every field that it has is described. */
  const expectToFit = (answer: RawResponse, response: JsonObject) => {
    for (const [name, value] of Object.entries(asObject(response['headers']))) {
      const header = resolve(value)
      const text = answer.headers.get(name.toLowerCase())
      if (text === undefined) expect(header['required'] ?? false, `${answer.status} has ${name}`).toBe(false)
      else {
        const schema = asObject(header['schema'])
        const sent = schema['type'] === 'integer' ? Number(text) : text
        expect(schemaFits(schema, sent), `${name}: ${text}`).toEqual({ fits: true, errors: null })
      }
    }
    const content = asObject(response['content'])
    if (answer.body === '') return expect(Object.keys(content)).toEqual([])
    const media = content[answer.headers.get('content-type')?.split(';')[0] ?? '']
    expect(media, `${answer.status} is ${answer.headers.get('content-type')}`).toBeDefined()
    const schema = asObject(asObject(media)['schema'])
    const value: unknown = JSON.parse(answer.body)
    expect(schemaFits(schema, value), answer.body).toEqual({ fits: true, errors: null })
  }

  const component = (kind: string, name: string) => resolve({ $ref: `#/components/${kind}/${name}` })

  return { operations, bodies, examples, responseOf, component, expectToFit, isPublic }
}

/** Whether an operation can be asked for without a key. */
const isPublic = (operation: JsonObject) =>
  asList(operation['security']).some((alternative) => Object.keys(asObject(alternative)).length === 0)
