import { parseExact, type DeliveryStory } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { useNow } from '../../../clock/clock.ts'
import { Page } from '../../../frame/page.tsx'
import { useLive } from '../../../live/live.ts'
import { Copy } from '../../../parts/controls/copy.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { Fact, Facts } from '../../../parts/data/facts.tsx'
import { Json } from '../../../parts/data/json.tsx'
import { Skeleton } from '../../../parts/feedback/skeleton.tsx'
import { StateBadge } from '../../../parts/data/state-badge.tsx'
import { Time } from '../../../parts/data/time.tsx'
import { Timeline } from '../../../parts/data/timeline.tsx'
import { client, queries } from '../../../session/client.ts'
import { attemptEntries } from '../attempts.tsx'
import { deliveryRoute } from '../routes.ts'
import { ReplayButton } from './replay.tsx'
import { deliveryState, topicWord } from './words.ts'

const CRUMBS = [
  { label: 'Challenges', to: '/console/challenges' },
  { label: 'Deliveries', to: '/console/challenges/deliveries' },
]

export function DeliveryPage() {
  const deliveryId = Number(deliveryRoute.useParams().deliveryId)
  const queryKey = ['deliveries', 'delivery', deliveryId]
  const delivery = useQuery({ queryKey, queryFn: () => client.deliveries.get(deliveryId), refetchOnMount: 'always' })
  useLive({
    topic: 'deliveries',
    params: { delivery_ids: [deliveryId] },
    enabled: delivery.data !== undefined,
    onMessage: ({ type }) => {
      if (type === 'changed') void queries.invalidateQueries({ queryKey })
    },
  })
  if (delivery.data !== undefined) return <Shown delivery={delivery.data} />
  return (
    <Page title="Delivery" crumbs={CRUMBS}>
      {delivery.isError ? (
        <ErrorBox
          title="The delivery could not be loaded"
          error={delivery.error}
          onRetry={() => void delivery.refetch()}
        />
      ) : (
        <Skeleton lines={8} />
      )}
    </Page>
  )
}

function Shown({ delivery }: { delivery: DeliveryStory }) {
  const now = useNow()
  return (
    <Page
      title={topicWord(delivery.topic)}
      crumbs={CRUMBS}
      aside={<StateBadge {...deliveryState(delivery)} />}
      {...(delivery.status === 'dead' ? { actions: <ReplayButton delivery={delivery} /> } : {})}
    >
      <Facts>
        <Fact name="About">
          <Copy text={delivery.subject} label="what it is about" />
        </Fact>
        <Fact name="Queued">
          <Time at={delivery.created_at} />
        </Fact>
        <Fact name="Request id">
          <Copy text={delivery.request_id} label="request id" />
        </Fact>
        <Fact name="Attempts">{delivery.attempts}</Fact>
      </Facts>
      <h2 className="mt-6 mb-2 text-lead font-semibold">Attempts</h2>
      {delivery.log.length === 0 ? (
        <p className="text-quiet">None yet.</p>
      ) : (
        <Timeline label="Attempts" entries={attemptEntries(delivery.topic, delivery.log)} now={now} />
      )}
      <h2 className="mt-6 mb-2 text-lead font-semibold">Request</h2>
      <p className="mb-2 font-mono text-[13px] wrap-anywhere">POST {delivery.url}</p>
      <Body delivery={delivery} />
    </Page>
  )
}

function Body({ delivery: { body, is_body_cut: isCut } }: { delivery: DeliveryStory }) {
  const json = isCut ? undefined : parsed(body)
  if (json !== undefined) return <Json value={json} label="Body" />
  return (
    <pre
      className="max-h-96 overflow-auto rounded-md border border-line bg-raised p-3 font-mono text-[13px] wrap-anywhere whitespace-pre-wrap"
      tabIndex={0}
      role="region"
      aria-label="Body"
    >
      {body}
      {isCut && '…'}
    </pre>
  )
}

function parsed(text: string): unknown {
  try {
    return parseExact(text)
  } catch {
    return undefined
  }
}
