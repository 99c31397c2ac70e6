// How long the task is one's own. It is renewed while the person works; one who has left loses it in time.
import type { DeskTask } from '@reeve/sdk'
import { useEffect, useEffectEvent, useRef } from 'react'
import { useNow } from '../../../clock/clock.ts'
import { Button } from '../../../parts/controls/button.tsx'
import { classes } from '../../../parts/classes.ts'
import { Icon } from '../../../parts/icon.tsx'
import { Countdown } from '../../../parts/data/time.tsx'

const SOON_MS = 120_000
const WORKING_MS = 120_000
const RETRY_MS = 15_000
/** Renewed once less than this part of it is left. */
const RENEW_BELOW = 0.5

export function Lock({ task, onRenew }: { task: DeskTask; onRenew(): Promise<unknown> }) {
  const until = Date.parse(task.locked_until ?? '')
  const now = useNow()
  const wholeMs = useRef(0)
  const worked = useRef(now)
  const asked = useRef(0)
  useEffect(() => {
    wholeMs.current = until - Date.now()
  }, [until])
  useEffect(() => {
    const work = () => {
      worked.current = Date.now()
    }
    const names = ['keydown', 'pointerdown', 'pointermove', 'blur'] as const
    names.forEach((name) => window.addEventListener(name, work))
    return () => names.forEach((name) => window.removeEventListener(name, work))
  }, [])
  const look = useEffectEvent(() => {
    const isInFrame = document.activeElement instanceof HTMLIFrameElement && document.visibilityState === 'visible'
    const isWorking = isInFrame || now - worked.current < WORKING_MS
    const isDue = until - now < wholeMs.current * RENEW_BELOW && until > now && now - asked.current > RETRY_MS
    if (!isWorking || !isDue) return
    asked.current = now
    onRenew().catch(() => {}) // it is tried again; the countdown goes on in sight
  })
  useEffect(() => look(), [now])
  const isLate = until - now < SOON_MS
  return (
    <span
      role="timer"
      aria-label="Your lock"
      className={classes(
        'inline-flex items-center gap-1.5 rounded-full px-2 py-0.5 text-small whitespace-nowrap',
        isLate ? 'bg-warn-bg text-warn-fg' : 'bg-quiet-bg text-quiet-fg',
      )}
    >
      <Icon name="wait" className="size-3" />
      <span>
        <Countdown until={task.locked_until ?? ''} over="over" /> left
      </span>
      {isLate && (
        <Button look="bare" className="!min-h-0 !px-1 !py-0 !text-current underline" onClick={() => void onRenew()}>
          Renew
        </Button>
      )}
    </span>
  )
}
