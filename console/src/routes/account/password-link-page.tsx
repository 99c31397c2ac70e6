// Where the link that an admin made leads: its owner sets a password, once. The token is after the #, which no server sees.
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Page } from '../../frame/page.tsx'
import { Empty } from '../../parts/feedback/empty.tsx'
import { Field, Form } from '../../parts/controls/form.tsx'
import { notify } from '../../parts/feedback/notify.ts'
import { client } from '../../session/client.ts'
import { signIn } from '../../session/session.tsx'
import { isolated } from '../../parts/text/isolated.ts'

export function PasswordLinkPage() {
  const [token] = useState(() => location.hash.slice(1))
  const navigate = useNavigate()
  if (token === '') {
    return (
      <Page title="Set your password">
        <Empty title="The link is not complete">Copy the whole of it, or ask an administrator for another.</Empty>
      </Page>
    )
  }
  return (
    <Page title="Set your password">
      <p className="mb-4 max-w-[72ch] text-quiet">The link works once. Every login of the account ends.</p>
      <Form
        action="Set the password"
        className="max-w-sm"
        onSubmit={async (values) => {
          const password = values.text('new_password')
          const { username } = await client.account.setPasswordByLink(token, password)
          await signIn(username, password)
          notify({ title: 'The password is set', detail: `You are signed in as ${isolated(username)}.`, tone: 'good' })
          await navigate({ to: '/', replace: true })
        }}
      >
        <Field
          name="new_password"
          label="New password"
          type="password"
          autoComplete="new-password"
          required
          hint="8 characters or more."
        />
      </Form>
    </Page>
  )
}
