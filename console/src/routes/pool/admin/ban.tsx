import type { PoolStanding } from '@reeve/sdk'
import { useState } from 'react'
import { Button } from '../../../parts/controls/button.tsx'
import { Dialog } from '../../../parts/feedback/dialog.tsx'
import { Field, Form, type FormValues } from '../../../parts/controls/form.tsx'
import { notify } from '../../../parts/feedback/notify.ts'
import { client } from '../../../session/client.ts'
import { isolated } from '../../../parts/text/isolated.ts'

interface BanButtonProps {
  worker: PoolStanding
  onChanged: () => Promise<unknown>
}

const REASON_MAX = 500

export function BanButton({ worker: { worker_id: id, name, standing }, onChanged }: BanButtonProps) {
  const [isOpen, setOpen] = useState(false)
  const isBanned = standing === 'banned'
  const submit = async (values: FormValues) => {
    if (isBanned) await client.poolAdmin.unban(id, values.optional('reason'))
    else await client.poolAdmin.ban(id, values.text('reason'))
    await onChanged()
    setOpen(false)
    notify({ title: isBanned ? `The ban of ${isolated(name)} is lifted` : `${isolated(name)} is banned` })
  }
  return (
    <>
      <Button look={isBanned ? 'plain' : 'danger'} onClick={() => setOpen(true)}>
        {isBanned ? 'Lift the ban' : 'Ban'}
      </Button>
      <Dialog
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title={isBanned ? `Lift the ban of ${isolated(name)}?` : `Ban ${isolated(name)}?`}
        description={
          isBanned
            ? 'It starts over on probation: what it did before does not count.'
            : 'What it works on goes to another worker, and its votes no longer count. Its owner sees the reason.'
        }
      >
        <Form action={isBanned ? 'Lift the ban' : 'Ban the worker'} onSubmit={submit}>
          <Field name="reason" label="Reason" required={!isBanned} maxLength={REASON_MAX} autoComplete="off" />
        </Form>
      </Dialog>
    </>
  )
}
