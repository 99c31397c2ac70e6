// The topic `deliveries`: the deliveries that a page has in sight, whenever one of them has changed, and the newest dead letter.
import { Type } from 'typebox'
import type { Deliveries } from '../deliveries/deliveries.ts'
import { both, lookLoop, openSights } from '../live/sights.ts'
import { liveTopic, type LiveTopic } from '../live/topic.ts'
import type { Loop } from '../loop.ts'

const IN_SIGHT_MAX = 200

const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const Params = Type.Object(
  { delivery_ids: Type.Array(Id, { maxItems: IN_SIGHT_MAX }) },
  { additionalProperties: false },
)

export interface LiveDeliveries {
  topic: LiveTopic
  loop: Loop
}

export function openLiveDeliveries(deliveries: Pick<Deliveries, 'states' | 'newestDead'>): LiveDeliveries {
  const sights = openSights(async (ids) => {
    const states = await deliveries.states(ids.map(Number))
    return new Map(
      states.map(({ outboxId, status, attempts, lastError }) => [
        String(outboxId),
        { delivery_id: outboxId, status, attempts, last_error: lastError },
      ]),
    )
  })
  const newest = openSights(async ([only = '']) => new Map([[only, await deliveries.newestDead()]]))
  return {
    topic: liveTopic({
      name: 'deliveries',
      roles: ['ADMIN'],
      params: Params,
      open: async ({ params: { delivery_ids: ids }, send }) =>
        both(
          sights.open(ids.map(String), (changed) => send('changed', { deliveries: changed })),
          newest.open(['newest'], ([deliveryId]) => send('newest_dead', { delivery_id: deliveryId })),
        ),
    }),
    loop: lookLoop('deliveries', sights, newest),
  }
}
