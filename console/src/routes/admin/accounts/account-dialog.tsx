// What an admin does to one account.
import type { Account } from '@reeve/sdk'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button, buttonClass } from '../../../parts/controls/button.tsx'
import { Dialog } from '../../../parts/feedback/dialog.tsx'
import { Form } from '../../../parts/controls/form.tsx'
import { notify } from '../../../parts/feedback/notify.ts'
import { client } from '../../../session/client.ts'
import { messageOf } from '../../../session/errors.ts'
import { useSession } from '../../../session/session.tsx'
import { PasswordLink } from './password-link.tsx'
import { PasswordField } from './password-field.tsx'
import { RoleChecks, rolesIn } from './role-checks.tsx'
import { isolated } from '../../../parts/text/isolated.ts'

interface AccountDialogProps {
  account: Account
  onClose: () => void
  onChanged: (account: Account) => void
  onWantsClose: () => void
  onWantsDelete: () => void
}

export function AccountDialog({ account, onClose, onChanged, onWantsClose, onWantsDelete }: AccountDialogProps) {
  const { me } = useSession()
  const { user_id: id, username, roles, is_active: isActive } = account
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={username}
      description={isActive ? `Account ${id}` : `Account ${id}, closed`}
      footer={
        <>
          <Link to="/console/admin/audit" search={{ account: id }} className={buttonClass('plain')}>
            Audit trail
          </Link>
          {me?.user_id !== id && (
            <Button look="danger" onClick={onWantsDelete}>
              Delete…
            </Button>
          )}
          {isActive ? (
            <Button look="danger" onClick={onWantsClose}>
              Close the account…
            </Button>
          ) : (
            <Reopen account={account} onChanged={onChanged} />
          )}
        </>
      }
    >
      <div className="flex flex-col gap-6">
        <Form
          action="Save the roles"
          onSubmit={async (values) => {
            onChanged(await client.admin.setRoles(id, rolesIn(values)))
            notify({ title: `The roles of ${isolated(username)} are saved`, tone: 'good' })
          }}
        >
          <RoleChecks roles={roles} />
        </Form>
        {me?.user_id === id ? (
          <p className="text-quiet">
            Change your own password{' '}
            <Link to="/console/account" className="text-accent underline">
              under Account
            </Link>
            .
          </p>
        ) : (
          <>
            <ResetPassword account={account} />
            {isActive && <PasswordLink account={account} />}
          </>
        )}
      </div>
    </Dialog>
  )
}

function ResetPassword({ account: { user_id: id, username } }: { account: Account }) {
  const [times, setTimes] = useState(0)
  return (
    <Form
      key={times}
      action="Reset the password"
      className="border-t border-line pt-4"
      aside={<span className="text-small text-quiet">All its logins end.</span>}
      onSubmit={async (values) => {
        await client.admin.resetPassword(id, values.text('password'))
        notify({ title: `${isolated(username)} has a new password`, tone: 'good' })
        setTimes(times + 1)
      }}
    >
      <PasswordField label="New password" />
    </Form>
  )
}

function Reopen({ account: { user_id: id, username }, onChanged }: Pick<AccountDialogProps, 'account' | 'onChanged'>) {
  const [isBusy, setBusy] = useState(false)
  const reopen = async () => {
    setBusy(true)
    try {
      onChanged(await client.admin.setActive(id, true))
      notify({ title: `${isolated(username)} is open again`, tone: 'good' })
    } catch (error) {
      notify({ title: `${isolated(username)} could not be reopened`, detail: messageOf(error), tone: 'bad' })
    } finally {
      setBusy(false)
    }
  }
  return (
    <Button isBusy={isBusy} onClick={() => void reopen()}>
      Reopen the account
    </Button>
  )
}
