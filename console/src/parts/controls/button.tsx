import type { ComponentProps } from 'react'
import { classes } from '../classes.ts'
import { Icon, type IconName } from '../icon.tsx'

const LOOKS = {
  plain: 'border-line bg-surface text-text hover:bg-raised',
  main: 'border-transparent bg-accent text-on-accent hover:opacity-90',
  danger: 'border-transparent bg-bad-bg text-bad-fg hover:opacity-90',
  bare: 'border-transparent bg-transparent text-quiet hover:bg-raised hover:text-text',
} as const

export interface ButtonProps extends ComponentProps<'button'> {
  look?: keyof typeof LOOKS
  icon?: IconName
  /** Shown as working: it cannot be pressed again. */
  isBusy?: boolean
}

/** The look of a button, for a link that is one. */
export const buttonClass = (look: keyof typeof LOOKS = 'plain', className = ''): string =>
  classes(
    'inline-flex min-h-8 items-center justify-center gap-1.5 rounded-md border px-3 py-1 font-medium whitespace-nowrap',
    'transition-colors duration-150 disabled:opacity-55 max-sm:min-h-10',
    LOOKS[look],
    className,
  )

export function Button({ look = 'plain', icon, isBusy = false, className, children, disabled, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      className={buttonClass(look, className)}
      disabled={disabled === true || isBusy}
      aria-busy={isBusy}
      {...rest}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  )
}

/** A button that is only an icon: its label is read out and shown on hover. */
export function IconButton({
  label,
  icon,
  className,
  ...rest
}: { label: string; icon: IconName } & ComponentProps<'button'>) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={classes(
        'inline-flex size-8 items-center justify-center rounded-md text-quiet hover:bg-raised hover:text-text max-sm:size-10',
        className,
      )}
      {...rest}
    >
      <Icon name={icon} />
    </button>
  )
}
