// A password that one person gives another: it is shown, to be told, and may be made up here.
import type { MouseEvent } from 'react'
import { Button } from '../../../parts/controls/button.tsx'
import { Field } from '../../../parts/controls/form.tsx'

const BYTES = 12

export function PasswordField({ label }: { label: string }) {
  return (
    <div className="flex flex-col items-start gap-2">
      <div className="w-full">
        <Field
          name="password"
          label={label}
          required
          autoComplete="off"
          spellCheck={false}
          hint="8 characters or more. Tell it to the person, who changes it under Account."
        />
      </div>
      <Button onClick={fillIn}>Make one up</Button>
    </div>
  )
}

/** As if it were typed: that also takes back what the server said about the password before. */
function fillIn({ currentTarget: { form } }: MouseEvent<HTMLButtonElement>): void {
  const input = form?.elements.namedItem('password')
  if (!(input instanceof HTMLInputElement)) return
  input.setRangeText(madeUp(), 0, input.value.length, 'end')
  input.dispatchEvent(new Event('input', { bubbles: true }))
}

const madeUp = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(BYTES)), (byte) => byte.toString(16).padStart(2, '0'))
    .join('')
    .replace(/.{6}(?=.)/g, '$&-')
