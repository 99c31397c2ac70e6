// The form of a task that asks a question.
import type { DeskField, DeskForm } from '@reeve/sdk'
import { inputClass } from '../../../parts/controls/form.tsx'

const LONG_CHARS = 200

interface QuestionProps {
  form: DeskForm
  answers: Readonly<Record<string, string | readonly string[]>>
  onChange(answers: Readonly<Record<string, string | readonly string[]>>): void
}

export function Question({ form, answers, onChange }: QuestionProps) {
  return (
    <div className="flex flex-col gap-4">
      <p className="text-lead whitespace-pre-wrap" dir="auto">
        {form.question}
      </p>
      {form.fields.map((field) => (
        <Answer
          key={field.name}
          field={field}
          value={answers[field.name]}
          onChange={(value) => onChange({ ...answers, [field.name]: value })}
        />
      ))}
    </div>
  )
}

interface AnswerProps {
  field: DeskField
  value: string | readonly string[] | undefined
  onChange(value: string | readonly string[]): void
}

function Answer({ field, value, onChange }: AnswerProps) {
  const label = field.label ?? field.name
  if (field.type === 'image') {
    return typeof field.image === 'string' ? (
      <img src={field.image} alt={label} className="max-h-80 max-w-full self-start rounded-md border border-line" />
    ) : null
  }
  if (field.type === 'choice') return <Options field={field} label={label} value={value} onChange={onChange} />
  const text = typeof value === 'string' ? value : ''
  const shared = {
    className: inputClass,
    value: text,
    autoComplete: 'off',
    ...(field.max_length === undefined ? {} : { maxLength: field.max_length }),
    ...(field.digits_only === true ? { inputMode: 'numeric' as const } : {}),
  }
  return (
    <label className="flex flex-col gap-1">
      <span className="font-medium" dir="auto">
        {label}
      </span>
      {(field.max_length ?? LONG_CHARS) < LONG_CHARS ? (
        <input {...shared} onChange={({ currentTarget }) => onChange(currentTarget.value)} />
      ) : (
        <textarea {...shared} rows={3} onChange={({ currentTarget }) => onChange(currentTarget.value)} />
      )}
    </label>
  )
}

function Options({
  field,
  label,
  value,
  onChange,
}: AnswerProps & { label: string; field: Extract<DeskField, { type: 'choice' }> }) {
  const isMany = field.multiple === true
  const chosen = new Set(typeof value === 'string' ? [value] : (value ?? []))
  const toggle = (option: string, isChosen: boolean) => {
    if (!isMany) return onChange(option)
    return onChange(field.options.filter((one) => (one === option ? isChosen : chosen.has(one))))
  }
  return (
    <fieldset className="flex flex-col gap-1">
      <legend className="font-medium" dir="auto">
        {label}
      </legend>
      {field.options.map((option) => (
        <label key={option} className="inline-flex min-h-8 items-center gap-2" dir="auto">
          <input
            type={isMany ? 'checkbox' : 'radio'}
            name={field.name}
            className="size-4 accent-(--accent)"
            checked={chosen.has(option)}
            onChange={({ currentTarget: { checked } }) => toggle(option, checked)}
          />
          {option}
        </label>
      ))}
    </fieldset>
  )
}
