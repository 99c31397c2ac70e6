// A list of any length: only the rows in sight are drawn. Rows are reached with the arrow keys (or J and K), opened with
// Enter and chosen with Space; the head stays in sight; a list that one comes back to is where it was left.
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from 'react'
import { classes } from '../classes.ts'
import { Skeleton } from '../feedback/skeleton.tsx'
import type { TableSelection } from './table-selection.ts'

const ROW_PX = 40
const HEAD_PX = 32
const OVERSCAN = 12
const PAGE_ROWS = 10
const NEAR_END_ROWS = 20
const ROWS_MIN = 4
const PLACES_MAX = 100

export interface Column<R> {
  head: string
  /** A track of a CSS grid: `minmax(120px, 2fr)`, `96px`. */
  width: string
  cell: (row: R) => ReactNode
  align?: 'right'
  /** Left out on a phone. */
  wideOnly?: boolean
  /** Left out where the window is no wider than a small laptop's. */
  roomyOnly?: boolean
}

export interface TableProps<R> {
  label: string
  rows: readonly R[]
  columns: readonly Column<R>[]
  rowKey: (row: R) => string
  onOpen?: (row: R) => void
  /** Shown in place of the rows. */
  empty: ReactNode
  isLoading?: boolean
  /** Called when the end comes near: load more. */
  onEnd?: () => void
  hasMore?: boolean
  selection?: TableSelection
  /** Under which its place is kept. */
  place?: string
  onAtTop?: (isAtTop: boolean) => void
  /** As high as its rows, up to so many. Without it the page gives it a height. */
  rowsMax?: number
  className?: string
}

const places = new Map<string, number>()

export function Table<R>(props: TableProps<R>) {
  const { label, rows, rowKey, empty, isLoading = false, hasMore = false, selection, place, onAtTop, rowsMax } = props
  const { scroller, virtual, active, setActive, focusRow } = useRows(props)
  const isNarrow = useMatches(NARROW)
  const isTight = useMatches(TIGHT)
  const columns = props.columns.filter(
    ({ wideOnly = false, roomyOnly = false }) => !(isNarrow && wideOnly) && !(isTight && roomyOnly),
  )
  const tracks = [...(selection === undefined ? [] : ['36px']), ...columns.map(({ width }) => width)].join(' ')

  return (
    <div
      ref={scroller}
      role="grid"
      aria-label={label}
      aria-rowcount={hasMore ? -1 : rows.length + 1}
      aria-busy={isLoading}
      className={classes('relative min-h-0 overflow-auto overscroll-contain [contain:strict]', props.className)}
      {...(rowsMax === undefined ? {} : { style: { height: heightOf(rows.length, rowsMax) } })}
      onScroll={({ currentTarget: { scrollTop } }) => {
        if (place !== undefined) keepPlace(place, scrollTop)
        onAtTop?.(scrollTop < ROW_PX)
      }}
    >
      <Head rows={rows} columns={columns} rowKey={rowKey} selection={selection} tracks={tracks} />
      {rows.length === 0 && (
        <div role="row">
          <div role="gridcell">{isLoading ? <Skeleton lines={8} className="p-4" /> : empty}</div>
        </div>
      )}
      <div role="rowgroup" className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, key, start }) => {
          const row = rows[index]
          if (row === undefined) return null
          return (
            <Row
              key={key}
              {...props}
              row={row}
              columns={columns}
              index={index}
              top={start}
              tracks={tracks}
              isActive={index === Math.min(active, rows.length - 1)}
              onFocus={() => setActive(index)}
              onMove={focusRow}
            />
          )
        })}
      </div>
    </div>
  )
}

const heightOf = (rows: number, rowsMax: number): number =>
  HEAD_PX + ROW_PX * Math.min(Math.max(rows, ROWS_MIN), rowsMax) + 1

/** Which rows are drawn, which one has the focus, and when more are wanted. */
function useRows<R>({ rows, rowKey, place, hasMore = false, onEnd }: TableProps<R>) {
  const scroller = useRef<HTMLDivElement>(null)
  const [active, setActive] = useState(0)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    getItemKey: (index) => keyAt(rows, index, rowKey),
    initialOffset: place === undefined ? 0 : (places.get(place) ?? 0),
  })
  const isNearEnd = hasMore && (virtual.getVirtualItems().at(-1)?.index ?? 0) >= rows.length - NEAR_END_ROWS
  useEffect(() => {
    if (isNearEnd) onEnd?.()
  }, [isNearEnd, onEnd, rows.length])

  const focusRow = (index: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, index))
    setActive(next)
    virtual.scrollToIndex(next)
    requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>(`[data-index="${next}"]`)?.focus())
  }
  return { scroller, virtual, active, setActive, focusRow }
}

interface HeadProps<R> extends Pick<TableProps<R>, 'rows' | 'columns' | 'rowKey'> {
  selection: TableSelection | undefined
  tracks: string
}

function Head<R>({ rows, columns, rowKey, selection, tracks }: HeadProps<R>) {
  return (
    <div
      role="row"
      aria-rowindex={1}
      className="sticky top-0 z-10 grid min-w-full items-center border-b border-line bg-surface text-small text-quiet"
      style={{ gridTemplateColumns: tracks, height: HEAD_PX }}
    >
      {selection !== undefined && (
        <span role="columnheader" className="flex items-center px-2 sm:px-3">
          <input
            type="checkbox"
            aria-label="Choose all rows that are loaded"
            className="size-4 accent-(--accent)"
            checked={rows.length > 0 && rows.every((row) => selection.has(rowKey(row)))}
            onChange={({ currentTarget: { checked } }) => selection.setMany(rows.map(rowKey), checked)}
          />
        </span>
      )}
      {columns.map((column) => (
        <span key={column.head} role="columnheader" className={cellClass(column)}>
          {column.head}
        </span>
      ))}
    </div>
  )
}

interface RowProps<R> extends TableProps<R> {
  row: R
  index: number
  top: number
  tracks: string
  isActive: boolean
  onFocus: () => void
  onMove: (index: number) => void
}

function Row<R>({
  row,
  rows,
  index,
  top,
  tracks,
  columns,
  rowKey,
  selection,
  onOpen,
  isActive,
  onFocus,
  onMove,
}: RowProps<R>) {
  const key = rowKey(row)
  const isChosen = selection?.has(key) === true
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return
    const next = moveOf(event.key, index, rows.length)
    if (next !== undefined) onMove(next)
    else if (event.key === 'Enter') onOpen?.(row)
    else if (event.key === ' ' || event.key === 'x') selection?.toggle(key)
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div
      role="row"
      data-index={index}
      aria-rowindex={index + 2}
      aria-selected={selection === undefined ? undefined : isChosen}
      tabIndex={isActive ? 0 : -1}
      onFocus={onFocus}
      onKeyDown={onKeyDown}
      onClick={({ target }) => {
        if (target instanceof Element && target.closest('a, button, input, label') === null) onOpen?.(row)
      }}
      className={classes(
        'absolute inset-x-0 grid items-center border-b border-line focus-visible:-outline-offset-2',
        onOpen !== undefined && 'cursor-pointer hover:bg-raised',
        isChosen && 'bg-accent-soft',
      )}
      style={{ gridTemplateColumns: tracks, height: ROW_PX, transform: `translateY(${top}px)` }}
    >
      {selection !== undefined && (
        <span role="gridcell" className="flex items-center px-2 sm:px-3">
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`Choose row ${index + 1}`}
            className="size-4 accent-(--accent)"
            checked={isChosen}
            onChange={() => selection.toggle(key)}
          />
        </span>
      )}
      {columns.map((column) => (
        <span key={column.head} role="gridcell" className={cellClass(column)}>
          {column.cell(row)}
        </span>
      ))}
    </div>
  )
}

/** The row that a key leads to. */
function moveOf(key: string, index: number, count: number): number | undefined {
  const moves: Readonly<Record<string, number>> = {
    ArrowDown: index + 1,
    j: index + 1,
    ArrowUp: index - 1,
    k: index - 1,
    PageDown: index + PAGE_ROWS,
    PageUp: index - PAGE_ROWS,
    Home: 0,
    End: count - 1,
  }
  return moves[key]
}

const cellClass = <R,>({ align }: Column<R>): string =>
  classes('min-w-0 truncate px-2 sm:px-3', align === 'right' && 'text-right')

function keyAt<R>(rows: readonly R[], index: number, rowKey: (row: R) => string): string {
  const row = rows[index]
  return row === undefined ? String(index) : rowKey(row)
}

function keepPlace(place: string, top: number): void {
  places.delete(place)
  places.set(place, top)
  const [oldest] = places.keys()
  if (places.size > PLACES_MAX && oldest !== undefined) places.delete(oldest)
}

const NARROW = '(max-width: 639px)'
const TIGHT = '(max-width: 1199px)'

function useMatches(query: string): boolean {
  const [isMatch, setMatch] = useState(() => matchMedia(query).matches)
  useEffect(() => {
    const media = matchMedia(query)
    const change = () => setMatch(media.matches)
    media.addEventListener('change', change)
    return () => media.removeEventListener('change', change)
  }, [query])
  return isMatch
}
