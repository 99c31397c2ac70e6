import { useConnection } from '../live/live.ts'

export function LiveBadge() {
  const connection = useConnection()
  if (connection === 'off' || connection === 'ended') return null
  const isLive = connection === 'live'
  return (
    <span role="status" className={`text-small whitespace-nowrap ${isLive ? 'text-good-fg' : 'text-warn-fg'}`}>
      <span aria-hidden="true">{isLive ? '●' : '○'}</span>{' '}
      <span>{isLive ? 'live' : connection === 'connecting' ? 'connecting…' : 'reconnecting…'}</span>
    </span>
  )
}
