// The receipts of a job, each verified in this browser: nothing that the server says of them is believed but its key.
import { verifyReceipt, type Receipt } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { number } from '../../../clock/format.ts'
import { Copy } from '../../../parts/controls/copy.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { Json } from '../../../parts/data/json.tsx'
import { Skeleton } from '../../../parts/feedback/skeleton.tsx'
import { StateBadge, type Stated } from '../../../parts/data/state-badge.tsx'
import { Time } from '../../../parts/data/time.tsx'
import { client } from '../../../session/client.ts'

interface ReceiptsProps {
  jobId: string
  /** A result was accepted: its receipt comes, if it is not there yet. */
  isExpected: boolean
}

export function Receipts({ jobId, isExpected }: ReceiptsProps) {
  const receipts = useQuery({
    queryKey: ['pool', 'job', jobId, 'receipts'],
    queryFn: () => client.pool.receipts(jobId),
  })
  if (receipts.isError)
    return (
      <ErrorBox
        title="The receipts could not be loaded"
        error={receipts.error}
        onRetry={() => void receipts.refetch()}
      />
    )
  if (receipts.data?.length === 0 && !isExpected) return null
  return <ReceiptList receipts={receipts.data} />
}

/** Undefined: they are being loaded. */
export function ReceiptList({ receipts }: { receipts: readonly Receipt[] | undefined }) {
  const key = useQuery({ queryKey: ['pool', 'receipt key'], queryFn: () => client.pool.receiptKey() })
  return (
    <section aria-label="Receipts" className="mt-6 max-w-3xl">
      <h2 className="mb-2 text-lead font-semibold">Receipts</h2>
      {key.isError && (
        <ErrorBox title="The server’s key could not be loaded" error={key.error} onRetry={() => void key.refetch()} />
      )}
      {(receipts === undefined || key.isPending) && <Skeleton lines={2} />}
      {receipts?.length === 0 && <p className="text-quiet">The receipt is being written.</p>}
      {key.data !== undefined &&
        receipts?.map((receipt) => <Verified key={receipt.hash} receipt={receipt} serverKey={key.data} />)}
      {key.data !== undefined && (
        <p className="mt-2 text-small text-quiet">
          Verified here with the server’s key <Copy text={key.data} label="server key" />. Keep it: with{' '}
          <code className="font-mono">reeve verify receipt</code> anybody can check a receipt without this server.
        </p>
      )}
    </section>
  )
}

function Verified({ receipt, serverKey }: { receipt: Receipt; serverKey: string }) {
  const { number: count, worker_id: worker, finished_at: at, status } = receipt.receipt
  const check = useQuery({
    queryKey: ['pool', 'verified', receipt, serverKey],
    queryFn: () => verifyReceipt(receipt, serverKey),
    retry: false,
  })
  return (
    <details className="border-t border-line py-2">
      <summary className="cursor-pointer">
        <span className="inline-flex flex-wrap items-center gap-x-3 gap-y-1 align-middle">
          <span className="font-medium">Receipt {number(count)}</span>
          <StateBadge {...stateOf(check)} />
          <span className="text-quiet">
            {status === 'failed' ? 'a failure' : 'a result'} of worker {worker}, <Time at={at} inList />
          </span>
        </span>
      </summary>
      {typeof check.data === 'string' && <p className="mt-2 text-bad-fg">It {check.data}.</p>}
      <div className="mt-2">
        <Json value={receipt} label={`Receipt ${count}`} />
      </div>
    </details>
  )
}

function stateOf({
  data,
  isPending,
  isError,
}: {
  data: string | null | undefined
  isPending: boolean
  isError: boolean
}): Stated {
  if (isPending) return { tone: 'quiet', word: 'Being verified' }
  if (isError) return { tone: 'warn', word: 'This browser cannot verify it' }
  return data === null ? { tone: 'good', word: 'Verified' } : { tone: 'bad', word: 'Does not verify' }
}
