import { useState } from 'react'
import { roleWord } from '../../frame/account-button.tsx'
import { Button } from '../../parts/controls/button.tsx'
import { Copy } from '../../parts/controls/copy.tsx'
import { Dialog } from '../../parts/feedback/dialog.tsx'
import { Check, Choice, Field, Form } from '../../parts/controls/form.tsx'
import { client } from '../../session/client.ts'
import { useSession } from '../../session/session.tsx'
import { isolated } from '../../parts/text/isolated.ts'

const LIFETIMES = [
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: 'A year' },
  { value: '', label: 'Until it is revoked' },
]

export function NewApiKeyDialog({ onClose, onCreated }: { onClose: () => void; onCreated: () => void }) {
  const [made, setMade] = useState<{ name: string; secret: string } | null>(null)
  if (made !== null) {
    return (
      <Dialog
        isOpen
        onClose={onClose}
        title={`The key ${isolated(made.name)}`}
        description="It is shown this once: copy it to where the program reads it."
        footer={
          <Button look="main" onClick={onClose}>
            I have copied it
          </Button>
        }
      >
        <div className="rounded-md border border-line bg-raised p-3">
          <Copy text={made.secret} label="API key" />
        </div>
        <p className="mt-3 text-quiet">
          Programs send it as <code>X-API-Key</code>.
        </p>
      </Dialog>
    )
  }
  return (
    <Dialog isOpen onClose={onClose} title="New API key">
      <KeyForm
        onMade={(key) => {
          setMade(key)
          onCreated()
        }}
      />
    </Dialog>
  )
}

function KeyForm({ onMade }: { onMade: (key: { name: string; secret: string }) => void }) {
  const { me } = useSession()
  const roles = me?.roles ?? []
  return (
    <Form
      action="Create the key"
      onSubmit={async (values) => {
        const chosen = values.all('scopes')
        const scopes = roles.filter((role) => chosen.includes(role))
        const days = values.number('expires_in_days')
        const { name, api_key: secret } = await client.account.createApiKey({
          name: values.text('name'),
          ...(scopes.length === 0 ? {} : { scopes }),
          ...(days === undefined ? {} : { expires_in_days: days }),
        })
        onMade({ name, secret })
      }}
    >
      <Field
        name="name"
        label="What uses it"
        required
        maxLength={120}
        autoComplete="off"
        placeholder="nightly import"
      />
      <fieldset className="flex flex-wrap gap-x-4">
        <legend className="mb-1 font-medium">What it may do</legend>
        {roles.map((role) => (
          <Check key={role} name="scopes" value={role} label={roleWord(role)} />
        ))}
        <p className="w-full text-small text-quiet">None chosen: all roles that the account has.</p>
      </fieldset>
      <Choice name="expires_in_days" label="Expires after" options={LIFETIMES} defaultValue="90" />
    </Form>
  )
}
