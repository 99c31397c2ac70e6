import { Dialog } from '../../../parts/feedback/dialog.tsx'
import { Field, Form } from '../../../parts/controls/form.tsx'
import { notify } from '../../../parts/feedback/notify.ts'
import { client } from '../../../session/client.ts'
import { PasswordField } from './password-field.tsx'
import { RoleChecks, rolesIn } from './role-checks.tsx'
import { isolated } from '../../../parts/text/isolated.ts'

export function NewAccountDialog({ onClose, onCreated }: { onClose: () => void; onCreated: () => void }) {
  return (
    <Dialog isOpen onClose={onClose} title="New account">
      <Form
        action="Create the account"
        onSubmit={async (values) => {
          const { username } = await client.admin.createAccount({
            username: values.text('username'),
            password: values.text('password'),
            roles: rolesIn(values),
          })
          notify({ title: `${isolated(username)} is created`, tone: 'good' })
          onCreated()
        }}
      >
        <Field name="username" label="Name" required autoComplete="off" autoCapitalize="none" spellCheck={false} />
        <PasswordField label="Password" />
        <RoleChecks />
      </Form>
    </Dialog>
  )
}
