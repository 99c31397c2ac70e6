// The page of the task, in its sandbox on another host.
import type { DeskTask } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../../parts/controls/button.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { Skeleton } from '../../../parts/feedback/skeleton.tsx'
import { client } from '../../../session/client.ts'
import { isolated } from '../../../parts/text/isolated.ts'

export function PageFrame({ task }: { task: DeskTask }) {
  const [times, setTimes] = useState(0)
  const frame = useQuery({
    queryKey: ['desk', 'frame', task.uuid, times],
    queryFn: () => client.desk.frame(task.uuid),
    gcTime: 0, // an address works once
  })
  return (
    <div className="flex min-h-0 flex-1 flex-col gap-2">
      {frame.isPending && <Skeleton lines={6} className="flex-1 p-4" />}
      {frame.isError && (
        <ErrorBox title="The page could not be opened" error={frame.error} onRetry={() => setTimes(times + 1)} />
      )}
      {frame.data !== undefined && (
        <iframe
          key={frame.data.url}
          src={frame.data.url}
          title={`The page of ${isolated(task.domain)}`}
          sandbox="allow-scripts allow-forms"
          referrerPolicy="no-referrer"
          className="min-h-0 w-full flex-1 rounded-md border border-line bg-surface"
        />
      )}
      <div className="flex items-center gap-2">
        <Button look="bare" icon="replay" onClick={() => setTimes(times + 1)}>
          Load the page again
        </Button>
      </div>
    </div>
  )
}
