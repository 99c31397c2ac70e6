// TypeBox reports every rule that a value breaks, and for a union the rules of all its members. A client needs one error per
// field: the first rule, and of a union the member that was probably meant.
import type { Compile } from 'typebox/compile'

export type ValidationError = ReturnType<ReturnType<typeof Compile>['Errors']>[number]

interface Chosen {
  error: ValidationError
  message: string
}

const MEMBER = /^(.*?)\/anyOf\/(\d+)/

export function onePerField(errors: readonly ValidationError[]): Chosen[] {
  const unions = new Map<string, ValidationError[]>()
  for (const error of errors) {
    const union = MEMBER.exec(error.schemaPath)?.[1]
    if (union !== undefined) unions.set(union, [...(unions.get(union) ?? []), error])
  }
  const seen = new Set<string>()
  return errors.flatMap((error) => {
    const union = MEMBER.exec(error.schemaPath)?.[1] ?? error.schemaPath
    const members = unions.get(union)
    const chosen = members === undefined ? { error, message: error.message } : chooseMember(members)
    const key = members === undefined || error.keyword === 'anyOf' ? error.instancePath : chosen.error.instancePath
    if (seen.has(key) || (error.keyword === 'anyOf' && members !== undefined)) return []
    seen.add(key)
    return [chosen]
  })
}

/** A member whose type or constant differs was not meant. */
function chooseMember(errors: readonly ValidationError[]): Chosen {
  const depth = Math.min(...errors.map(({ instancePath }) => instancePath.length))
  const isOther = ({ keyword, instancePath }: ValidationError) =>
    keyword === 'const' || (keyword === 'type' && instancePath.length === depth)
  const others = new Set(errors.filter(isOther).map(memberOf))
  const meant = errors.find((error) => !others.has(memberOf(error)))
  if (meant !== undefined) return { error: meant, message: meant.message }
  const error = errors.find(({ instancePath }) => instancePath.length === depth) ?? errors[0]
  if (error === undefined) throw new Error('A union without members cannot be broken.')
  return { error, message: `must be ${[...new Set(errors.map(acceptedBy))].join(' or ')}` }
}

const memberOf = ({ schemaPath }: ValidationError): string => MEMBER.exec(schemaPath)?.[2] ?? ''

function acceptedBy({ keyword, params, message }: ValidationError): string {
  if (keyword === 'type' && 'type' in params) return String(params.type)
  if (keyword === 'const' && 'allowedValue' in params) return JSON.stringify(params.allowedValue)
  return message.replace(/^must be /, '')
}
