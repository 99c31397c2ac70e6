// A judge job's payload: everything that judging needs. The tests are named by the hash of their package.
import { Type, type Static } from 'typebox'
import { Compile } from 'typebox/compile'

const Payload = Type.Object({
  problem_id: Type.String(),
  /** SHA-256 of the package. Pins the package version at submission. */
  package: Type.String(),
  language: Type.String(),
  code: Type.String(),
  /** Run the program on this, in place of the tests. */
  input: Type.Optional(Type.String()),
  /** The job of another door that waits for the verdict. */
  asked_by: Type.Optional(Type.String()),
})
const payloadSchema = Compile(Payload)

export type JudgePayload = Static<typeof Payload>

/** Null: not a payload of this door. */
export const payloadFrom = (stored: unknown): JudgePayload | null => (payloadSchema.Check(stored) ? stored : null)
