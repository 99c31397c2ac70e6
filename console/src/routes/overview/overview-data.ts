import type { LiveMessage, OverviewPoint, OverviewSample } from '@reeve/sdk'
import { useState } from 'react'
import { useLive } from '../../live/live.ts'

const POINTS_MAX = 300

export interface OverviewData {
  points: readonly OverviewPoint[]
  /** Null: nothing has arrived yet. */
  sample: OverviewSample | null
}

/** The server sends the past once, and then a sample each second. */
export function useOverview(): OverviewData {
  const [data, setData] = useState<OverviewData>({ points: [], sample: null })
  useLive({
    topic: 'overview',
    onMessage: ({ type, payload }: LiveMessage) => {
      if (type === 'history' && isHistory(payload)) setData(({ sample }) => ({ sample, points: payload.points }))
      if (type === 'sample' && isSample(payload)) {
        setData(({ points }) => ({
          sample: payload,
          points: points.at(-1)?.at === payload.point.at ? points : [...points, payload.point].slice(-POINTS_MAX),
        }))
      }
    },
  })
  return data
}

const isHistory = (value: unknown): value is { points: OverviewPoint[] } =>
  typeof value === 'object' && value !== null && 'points' in value

const isSample = (value: unknown): value is OverviewSample =>
  typeof value === 'object' && value !== null && 'point' in value && 'attention' in value
