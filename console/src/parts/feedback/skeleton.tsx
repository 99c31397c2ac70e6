/** Where something is about to be: as large as it will be, so that nothing jumps. */
export function Skeleton({ lines = 3, className = '' }: { lines?: number; className?: string }) {
  return (
    <div role="status" aria-label="Loading" className={`flex animate-pulse flex-col gap-3 ${className}`}>
      {Array.from({ length: lines }, (_, index) => (
        <div key={index} className={`h-4 rounded-sm bg-raised ${WIDTHS[index % WIDTHS.length]}`} />
      ))}
    </div>
  )
}

const WIDTHS = ['w-3/4', 'w-full', 'w-1/2', 'w-5/6']
