import { dirname } from 'node:path'
import { loadSync, type MessageTypeDefinition, type PackageDefinition } from '@grpc/proto-loader'
import { ReflectionService } from '@grpc/reflection'
import { protoPath as healthProtoPath } from 'grpc-health-check'
import { envoyFile } from '../../wire/envoy-protocol.ts'
import { adminFile, protoDir, weirFiles } from '../../wire/protocol.ts'

/** Describes what is served to tools such as grpcurl: grpc.reflection.v1 and v1alpha. */
export const createReflection = ({ hasAdmin }: { readonly hasAdmin: boolean }) =>
  new ReflectionService({
    ...loadDescribed([...weirFiles.filter((file) => hasAdmin || file !== adminFile), envoyFile], protoDir),
    ...loadDescribed([healthProtoPath], dirname(healthProtoPath)),
  })

/** With the names of the files, where grpc-js takes them in camel case. */
const loadDescribed = (files: readonly string[], includeDir: string): PackageDefinition => {
  const loaded = loadSync([...files], { includeDirs: [includeDir], keepCase: true })
  return Object.fromEntries(
    Object.entries(loaded).map(([name, definition]) => [name, mendDefinition(definition)] as const),
  )
}

// protobufjs gets two things wrong when it describes a file: it names the type of a map's entries after the field alone, which
// Go's protobuf and so grpcurl refuse, and it forgets that a field is optional, of which a oneof of one is left.

type FileDescription = { readonly messageType: readonly MessageDescription[] }
type MessageDescription = {
  readonly name: string
  readonly field: readonly FieldDescription[]
  readonly nestedType: readonly MessageDescription[]
  readonly oneofDecl: readonly { readonly name: string }[]
  readonly options?: { readonly mapEntry?: boolean }
}
type FieldDescription = {
  readonly name: string
  readonly typeName?: string
  readonly oneofIndex?: number
  readonly proto3Optional?: boolean
}

const fileDescription = loadSync('google/protobuf/descriptor.proto', { arrays: true })[
  'google.protobuf.FileDescriptorProto'
] as MessageTypeDefinition<FileDescription, FileDescription>

const mendDefinition = (definition: Definition): Definition =>
  isDescribed(definition)
    ? { ...definition, fileDescriptorProtos: definition.fileDescriptorProtos.map(mendFile) }
    : definition

type Definition = PackageDefinition[string]

/** A service is not: it lies in the files of its messages. */
const isDescribed = (definition: Definition): definition is MessageTypeDefinition<object, object> =>
  Array.isArray(definition['fileDescriptorProtos'])

const mendFile = (bytes: Buffer) => {
  const file = fileDescription.deserialize(bytes)
  return fileDescription.serialize({ ...file, messageType: file.messageType.map(mendMessage) })
}

const mendMessage = (message: MessageDescription): MessageDescription => {
  const entries = new Set(message.nestedType.filter(({ options }) => options?.mapEntry).map(({ name }) => name))
  return {
    ...message,
    nestedType: message.nestedType.map((nested) =>
      entries.has(nested.name) ? { ...nested, name: entryName(nested.name) } : mendMessage(nested),
    ),
    field: message.field.map((field) => ({
      ...field,
      ...(field.typeName !== undefined && entries.has(field.typeName) && { typeName: entryName(field.typeName) }),
      ...(isOptional(field, message) && { proto3Optional: true }),
    })),
  }
}

/** As the specification derives it from the field: `by_policy` has entries `ByPolicyEntry`. */
const entryName = (name: string) => `${name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())}Entry`

/** Compilers put a field that is `optional` into a oneof of its own, `_` and its name. */
const isOptional = ({ name, oneofIndex }: FieldDescription, { oneofDecl }: MessageDescription) =>
  oneofIndex !== undefined && oneofDecl[oneofIndex]?.name === `_${name}`
