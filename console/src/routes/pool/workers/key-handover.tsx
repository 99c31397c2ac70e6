// A key that was made here goes to its owner, and to nobody else.
import type { PrivateKey } from '@reeve/sdk'
import { Button } from '../../../parts/controls/button.tsx'
import { Copy } from '../../../parts/controls/copy.tsx'
import { notify } from '../../../parts/feedback/notify.ts'

interface KeyHandoverProps {
  workerId: number
  /** Null: the owner has it already. */
  privateKey: PrivateKey | null
  onDone: () => void
}

export function KeyHandover({ workerId, privateKey, onDone }: KeyHandoverProps) {
  const file = `worker-${workerId}.key`
  return (
    <div className="flex flex-col gap-4">
      {privateKey !== null && (
        <>
          <p>
            Keep its private key now. It was made in this browser, was not sent, and cannot be shown again. If it is
            lost, make a new one on the worker’s page.
          </p>
          <div className="flex flex-wrap gap-2">
            <Button look="main" icon="download" onClick={() => download(file, textOf(privateKey))}>
              Download {file}
            </Button>
            <Button
              icon="copy"
              onClick={() =>
                void navigator.clipboard
                  .writeText(textOf(privateKey))
                  .then(() => notify({ title: 'The key is copied' }))
              }
            >
              Copy the key
            </Button>
          </div>
        </>
      )}
      <div className="min-w-0">
        <p className="mb-2 font-medium">On the machine that is to work</p>
        <ol className="flex flex-col gap-2">
          {commandsFor(workerId, file, privateKey !== null).map(([label, command]) => (
            <li key={label} className="min-w-0 rounded-md border border-line bg-raised px-3 py-2">
              <p className="text-small text-quiet">{label}</p>
              <Copy text={command} label={label} />
            </li>
          ))}
        </ol>
      </div>
      <Button className="self-end" onClick={onDone}>
        Done
      </Button>
    </div>
  )
}

/** As `reeve worker keygen` writes it. */
const textOf = (key: PrivateKey): string => `${JSON.stringify(key)}\n`

function commandsFor(workerId: number, file: string, isNew: boolean): readonly (readonly [string, string])[] {
  const run = `npx reeve worker run --url ${location.origin} --worker ${workerId} --key ${file} --api-key-file api.key --exec ./handle.sh`
  return [
    ...(isNew ? [['Let nobody else read the key', `chmod 600 ${file}`] as const] : []),
    ['Start the worker: your program gets each job on its standard input', run],
  ]
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
