import type { Account, AccountPasswordLink } from '@reeve/sdk'
import { useState } from 'react'
import { Copy } from '../../../parts/controls/copy.tsx'
import { Form } from '../../../parts/controls/form.tsx'
import { Time } from '../../../parts/data/time.tsx'
import { client } from '../../../session/client.ts'

/** A link by which the owner of the account sets a password: nobody else learns it. */
export function PasswordLink({ account: { user_id: id } }: { account: Account }) {
  const [link, setLink] = useState<AccountPasswordLink | null>(null)
  return (
    <Form
      action="Make a link"
      className="border-t border-line pt-4"
      onSubmit={async () => setLink(await client.admin.createPasswordLink(id))}
    >
      <p>
        <span className="font-medium">One-time link.</span>{' '}
        <span className="text-quiet">By it the person sets a password that nobody else knows.</span>
      </p>
      {link !== null && (
        <p role="status" className="flex min-w-0 flex-wrap items-center gap-x-3">
          <Copy text={link.url} label="link" />
          <span className="text-small text-quiet">
            It works once, until <Time at={link.expires_at} />.
          </span>
        </p>
      )}
    </Form>
  )
}
