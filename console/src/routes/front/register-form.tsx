import { Choice, Field, Form } from '../../parts/controls/form.tsx'
import { client } from '../../session/client.ts'
import { signIn } from '../../session/session.tsx'

const ROLES = [
  { value: 'CLIENT', label: 'I have work to be done (client)' },
  { value: 'WORKER_OWNER', label: 'I run workers that do it (worker owner)' },
]

/** Creates an account and signs in. Every account may also play and submit programs. */
export function RegisterForm() {
  return (
    <Form
      action="Create the account"
      onSubmit={async (values) => {
        const username = values.text('username')
        const password = values.text('password')
        const role = values.text('role') === 'WORKER_OWNER' ? 'WORKER_OWNER' : 'CLIENT'
        await client.account.register({ username, password, role })
        await signIn(username, password)
      }}
    >
      <Field name="username" label="New name" autoComplete="username" required autoCapitalize="none" />
      <Field
        name="password"
        label="New password"
        type="password"
        autoComplete="new-password"
        required
        hint="8 characters or more."
      />
      <Choice name="role" label="What for" options={ROLES} />
    </Form>
  )
}
