// The account that is signed in: its API keys, its logins and its password.
import { useState } from 'react'
import { roleWord } from '../../frame/account-button.tsx'
import { Page } from '../../frame/page.tsx'
import { Field, Form } from '../../parts/controls/form.tsx'
import { notify } from '../../parts/feedback/notify.ts'
import { client, queries } from '../../session/client.ts'
import { useSession } from '../../session/session.tsx'
import { ApiKeys } from './api-keys.tsx'
import { Logins } from './logins.tsx'

export function OwnAccountPage() {
  const { me } = useSession()
  return (
    <Page title="Account">
      <p className="mb-6 text-quiet">
        <span dir="auto" className="break-words">
          {me?.username}
        </span>
        {' · '}
        {me?.roles.map(roleWord).join(', ')}
      </p>
      <div className="flex max-w-3xl flex-col gap-10">
        <ApiKeys />
        <Logins />
        <section aria-labelledby="password">
          <h2 id="password" className="mb-3 text-lead font-semibold">
            Password
          </h2>
          <PasswordChange />
        </section>
      </div>
    </Page>
  )
}

function PasswordChange() {
  const { me } = useSession()
  const [times, setTimes] = useState(0)
  return (
    <Form
      key={times}
      action="Change the password"
      className="max-w-sm"
      onSubmit={async (values) => {
        await client.account.changePassword(values.text('current_password'), values.text('new_password'))
        notify({ title: 'The password is changed', detail: 'Every other login has ended.', tone: 'good' })
        setTimes(times + 1)
        await queries.invalidateQueries({ queryKey: ['account', 'logins'] })
      }}
    >
      <input type="hidden" name="username" autoComplete="username" value={me?.username ?? ''} />
      <Field
        name="current_password"
        label="Current password"
        type="password"
        autoComplete="current-password"
        required
      />
      <Field
        name="new_password"
        label="New password"
        type="password"
        autoComplete="new-password"
        required
        hint="8 characters or more. Every other login ends; API keys do not."
      />
    </Form>
  )
}
