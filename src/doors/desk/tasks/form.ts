// A question of any kind, with a small form. The form is checked when the task is created, and the operator's answer against the form.
import { Type, type Static } from 'typebox'
import type { HttpError } from '../../../core/http/errors/http-error.ts'
import { invalid } from '../errors.ts'
import { imageFrom } from './image.ts'
import type { Form, FormField, Image } from './task.ts'

const TEXT_CHARS_MAX = 4000
const FIELDS_MAX = 20
const OPTIONS_MAX = 100
const IMAGE_BASE64_CHARS_MAX = 700_000 // about 500 KB
const IMAGES_MAX = 4
const FORM_CHARS_MAX = 32_768 // without its pictures

const Name = Type.String({ minLength: 1, maxLength: 60, pattern: '^[A-Za-z][A-Za-z0-9_]*$' })
const Label = Type.Optional(Type.String({ maxLength: 500 }))
const Chars = Type.Optional(Type.Integer({ minimum: 0, maximum: TEXT_CHARS_MAX }))

const TextField = Type.Object({
  type: Type.Literal('text'),
  name: Name,
  label: Label,
  min_length: Chars,
  max_length: Chars,
  digits_only: Type.Optional(Type.Boolean()),
})
const ChoiceField = Type.Object({
  type: Type.Literal('choice'),
  name: Name,
  label: Label,
  options: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { minItems: 2, maxItems: OPTIONS_MAX }),
  multiple: Type.Optional(Type.Boolean()),
})
const ImageField = Type.Object({
  type: Type.Literal('image'),
  name: Name,
  label: Label,
  image: Type.String({
    minLength: 1,
    maxLength: IMAGE_BASE64_CHARS_MAX,
    description: 'PNG, JPEG, GIF or WebP in base64, with or without `data:…;base64,` before it. Shown, not answered.',
  }),
})

export const FormBody = Type.Object(
  {
    question: Type.String({ minLength: 1, maxLength: TEXT_CHARS_MAX }),
    fields: Type.Optional(Type.Array(Type.Union([TextField, ChoiceField, ImageField]), { maxItems: FIELDS_MAX })),
  },
  { description: 'A question to a person. Without a text or a choice among its fields it has one text, `answer`.' },
)

const ANSWER: FormField = { type: 'text', name: 'answer', min_length: 1 }

/** The pictures are kept beside the form: lists of tasks do not carry them. */
export function parseForm(body: Static<typeof FormBody>): { form: Form; images: Image[] } | HttpError {
  const images: Image[] = []
  const fields: FormField[] = []
  for (const [index, field] of (body.fields ?? []).entries()) {
    if (fields.some(({ name }) => name === field.name))
      return invalid(['form', 'fields', String(index), 'name'], 'is there twice')
    if (field.type !== 'image') {
      const wrong = wrongField(field)
      if (wrong !== null) return invalid(['form', 'fields', String(index)], wrong)
      fields.push(field)
      continue
    }
    const image = imageFrom(field.image)
    if (image === null || images.length >= IMAGES_MAX)
      return invalid(['form', 'fields', String(index), 'image'], `must be one of at most ${IMAGES_MAX} pictures`)
    fields.push({ ...field, image: images.length })
    images.push(image)
  }
  if (JSON.stringify({ question: body.question, fields }).length > FORM_CHARS_MAX)
    return invalid('form', 'is too large')
  const isAnswerable = fields.some(({ type }) => type !== 'image')
  if (!isAnswerable && fields.some(({ name }) => name === ANSWER.name))
    return invalid(['form', 'fields'], 'have no field to answer in')
  return { form: { question: body.question, fields: isAnswerable ? fields : [...fields, ANSWER] }, images }
}

function wrongField(field: Static<typeof TextField> | Static<typeof ChoiceField>): string | null {
  if (field.type === 'choice') {
    return new Set(field.options).size === field.options.length ? null : 'has an option twice'
  }
  return (field.min_length ?? 0) > (field.max_length ?? TEXT_CHARS_MAX) ? 'has a min_length over its max_length' : null
}

/** Values by field name; a plain text where the form has one field to answer. A sentence says what is wrong. */
export function checkAnswer(form: Form, payload: unknown): Readonly<Record<string, string | string[]>> | string {
  const asked = form.fields.filter((field) => field.type !== 'image')
  const [only] = asked
  const given = typeof payload === 'string' && only !== undefined ? { [only.name]: payload } : payload
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return 'must be an object of answers'
  if (asked.length > 1 && typeof payload === 'string') return 'must be an object of answers'

  const values = new Map(Object.entries(given))
  const unknown = [...values.keys()].find((name) => !asked.some((field) => field.name === name))
  if (unknown !== undefined) return `has a field that the form has not: ${unknown.slice(0, 60)}`
  const answers: Record<string, string | string[]> = {}
  for (const field of asked) {
    const answer = answerOf(field, values.get(field.name))
    if (answer === null) return `does not answer ${field.name} as the form asks`
    answers[field.name] = answer
  }
  return answers
}

function answerOf(field: FormField, value: unknown): string | string[] | null {
  if (field.type === 'choice' && field.multiple === true) {
    const isChosen = (one: unknown): one is string => typeof one === 'string' && field.options.includes(one)
    if (!Array.isArray(value) || !value.every(isChosen)) return null
    return new Set(value).size === value.length ? value : null
  }
  if (typeof value !== 'string') return null
  if (field.type === 'choice') return field.options.includes(value) ? value : null
  if (field.type !== 'text') return null
  const { min_length: min = 1, max_length: max = TEXT_CHARS_MAX, digits_only: digitsOnly = false } = field
  if (value.length < min || value.length > max) return null
  return digitsOnly && !/^\d*$/.test(value) ? null : value
}
