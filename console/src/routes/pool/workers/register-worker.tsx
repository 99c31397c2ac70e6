import { generateWebKey, type PoolWorker, type PrivateKey } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Dialog } from '../../../parts/feedback/dialog.tsx'
import { Field, Form, type FormValues } from '../../../parts/controls/form.tsx'
import { Skeleton } from '../../../parts/feedback/skeleton.tsx'
import { client } from '../../../session/client.ts'
import { KeyHandover } from './key-handover.tsx'
import { reloadWorkers } from './worker-list.ts'

interface Registered {
  worker: PoolWorker
  privateKey: PrivateKey | null
}

export function RegisterWorker({ onClose }: { onClose: () => void }) {
  const [registered, setRegistered] = useState<Registered | null>(null)
  const register = async (values: FormValues) => {
    const key = await keyFor(values)
    const region = values.optional('region')
    const worker = await client.pool.register({
      name: values.text('name'),
      public_key: key.publicKey,
      ...(region === undefined ? {} : { region }),
    })
    setRegistered({ worker, privateKey: key.privateKey })
    void reloadWorkers()
  }
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={registered === null ? 'Register a worker' : `Registered as worker ${registered.worker.id}`}
    >
      {registered === null ? (
        <Form onSubmit={register} action="Register">
          <Field name="name" label="Name" hint="Unique on this server." required maxLength={120} autoComplete="off" />
          <Field
            name="region"
            label="Region"
            hint="Jobs may ask for one. Optional."
            maxLength={64}
            autoComplete="off"
          />
          <KeyChoice />
        </Form>
      ) : (
        <KeyHandover workerId={registered.worker.id} privateKey={registered.privateKey} onDone={onClose} />
      )}
    </Dialog>
  )
}

/** The worker's key: made here where the browser can, or one that the owner has made. */
export function KeyChoice() {
  const canMake = useQuery({
    queryKey: ['pool', 'can make keys'],
    queryFn: async () => (await generateWebKey()) !== null,
  })
  if (canMake.data === undefined) return <Skeleton lines={1} />
  return (
    <Field
      name="public_key"
      label="Public key"
      required={!canMake.data}
      maxLength={1024}
      autoComplete="off"
      spellCheck={false}
      className="font-mono"
      hint={
        canMake.data
          ? 'Leave it empty, and the key is made in this browser. Only its public half is sent. Or paste the one that reeve worker keygen prints.'
          : 'This browser makes no Ed25519 keys. Paste the public key that reeve worker keygen prints.'
      }
    />
  )
}

export async function keyFor(values: FormValues): Promise<{ publicKey: string; privateKey: PrivateKey | null }> {
  const pasted = values.text('public_key').trim()
  if (pasted !== '') {
    if (!/^[A-Za-z0-9_-]{43}={0,2}$/.test(pasted)) throw new Error('A public key is base64url, with 43 characters.')
    return { publicKey: pasted, privateKey: null }
  }
  const privateKey = await generateWebKey()
  if (privateKey === null) throw new Error('This browser makes no Ed25519 keys: paste a public key.')
  return { publicKey: privateKey.x, privateKey }
}
