// Forms. The server says what is wrong with a field, and the field shows it.
import { Field as Base } from '@base-ui/react/field'
import { Form as BaseForm } from '@base-ui/react/form'
import { useState, type ComponentProps, type ReactNode } from 'react'
import { fieldErrorsOf, messageOf } from '../../session/errors.ts'
import { Button } from './button.tsx'
import { classes } from '../classes.ts'

export const inputClass =
  'min-h-8 w-full rounded-md border border-line-strong bg-surface px-3 py-1 text-text placeholder:text-quiet max-sm:min-h-10 max-sm:text-lead data-[invalid]:border-bad-fg file:mr-3 file:rounded-sm file:border-0 file:bg-quiet-bg file:px-2 file:py-0.5 file:font-medium file:text-quiet-fg'

interface FormProps {
  /** What was typed, by the names of the fields. A refusal that is thrown is shown. */
  onSubmit: (values: FormValues) => Promise<unknown>
  /** The word on the button. */
  action: string
  children: ReactNode
  /** Beside the button. */
  aside?: ReactNode
  className?: string
}

export class FormValues {
  readonly #data: FormData
  constructor(data: FormData) {
    this.#data = data
  }
  text(name: string): string {
    const value = this.#data.get(name)
    return typeof value === 'string' ? value : ''
  }
  /** Undefined where nothing was typed. */
  optional(name: string): string | undefined {
    const text = this.text(name)
    return text === '' ? undefined : text
  }
  /** Undefined where nothing was typed, or no number. */
  number(name: string): number | undefined {
    const text = this.text(name).trim()
    const value = Number(text)
    return text === '' || Number.isNaN(value) ? undefined : value
  }
  has(name: string): boolean {
    return this.#data.has(name)
  }
  all(name: string): string[] {
    return this.#data.getAll(name).filter((value) => typeof value === 'string')
  }
}

export function Form({ onSubmit, action, children, aside, className }: FormProps) {
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const fields = fieldErrorsOf(error)

  const submit = async (data: FormData) => {
    setBusy(true)
    setError(null)
    try {
      await onSubmit(new FormValues(data))
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <BaseForm
      errors={fields}
      className={classes('flex flex-col gap-4', className)}
      onSubmit={(event) => {
        event.preventDefault()
        void submit(new FormData(event.currentTarget))
      }}
    >
      {children}
      {error !== null && Object.keys(fields).length === 0 && (
        <p role="alert" className="rounded-md bg-bad-bg px-3 py-2 text-bad-fg">
          {messageOf(error)}
        </p>
      )}
      <div className="flex flex-wrap items-center gap-3">
        <Button type="submit" look="main" isBusy={isBusy}>
          {action}
        </Button>
        {aside}
      </div>
    </BaseForm>
  )
}

interface FieldProps extends Omit<ComponentProps<'input'>, 'name'> {
  name: string
  label: string
  hint?: ReactNode
}

export function Field({ name, label, hint, className, ...input }: FieldProps) {
  return (
    <Labelled name={name} label={label} hint={hint}>
      <Base.Control render={<input {...input} className={classes(inputClass, className)} />} />
    </Labelled>
  )
}

interface AreaProps extends Omit<ComponentProps<'textarea'>, 'name'> {
  name: string
  label: string
  hint?: ReactNode
}

/** Text of several lines. */
export function Area({ name, label, hint, className, ...area }: AreaProps) {
  return (
    <Labelled name={name} label={label} hint={hint}>
      <Base.Control render={<textarea rows={3} {...area} className={classes(inputClass, className)} />} />
    </Labelled>
  )
}

interface LabelledProps {
  name: string
  label: string
  hint?: ReactNode
  children: ReactNode
}

/** A label, a hint and the server's complaint around any control (`Field.Control` of base-ui, a select). */
export function Labelled({ name, label, hint, children }: LabelledProps) {
  return (
    <Base.Root name={name} className="flex flex-col gap-1">
      <Base.Label className="font-medium">{label}</Base.Label>
      {children}
      {hint !== undefined && <Base.Description className="text-small text-quiet">{hint}</Base.Description>}
      <Base.Error className="text-small text-bad-fg" />
    </Base.Root>
  )
}

interface ChoiceProps extends Omit<ComponentProps<'select'>, 'name'> {
  name: string
  label: string
  hint?: ReactNode
  options: readonly { value: string; label: string }[]
}

/** The platform's own list: on a phone it is the one that people know. */
export function Choice({ name, label, hint, options, className, ...select }: ChoiceProps) {
  return (
    <Labelled name={name} label={label} hint={hint}>
      <Base.Control
        render={
          <select {...select} className={classes(inputClass, className)}>
            {options.map((option) => (
              <option key={option.value} value={option.value}>
                {option.label}
              </option>
            ))}
          </select>
        }
      />
    </Labelled>
  )
}

export function Check({ name, value, label, ...input }: { name: string; label: string } & ComponentProps<'input'>) {
  return (
    <label className="inline-flex min-h-8 items-center gap-2">
      <input type="checkbox" name={name} value={value} className="size-4 shrink-0 accent-(--accent)" {...input} />
      {label}
    </label>
  )
}
