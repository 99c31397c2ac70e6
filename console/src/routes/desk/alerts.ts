// Tells of new tasks while one looks elsewhere: a sound, and a notification of the system. Both are off until they are asked for.
import type { DeskTask } from '@reeve/sdk'
import { useState } from 'react'
import { placeOf } from './task-words.ts'
import { isolated } from '../../parts/text/isolated.ts'

const SOUND = 'reeve.desk.sound'
const NOTICES = 'reeve.desk.notices'
const TONE_HZ = 660
const TONE_SEC = 0.18

export interface Alerts {
  hasSound: boolean
  hasNotices: boolean
  toggleSound(): void
  toggleNotices(): Promise<void>
  tell(task: DeskTask): void
}

export function useAlerts(): Alerts {
  const [hasSound, setSound] = useState(() => localStorage.getItem(SOUND) === 'on')
  const [hasNotices, setNotices] = useState(() => localStorage.getItem(NOTICES) === 'on')
  const keep = (name: string, isOn: boolean) => localStorage.setItem(name, isOn ? 'on' : 'off')
  return {
    hasSound,
    hasNotices,
    toggleSound() {
      keep(SOUND, !hasSound)
      setSound(!hasSound)
      if (!hasSound) beep()
    },
    async toggleNotices() {
      const isOn = !hasNotices && (await Notification.requestPermission()) === 'granted'
      keep(NOTICES, isOn)
      setNotices(isOn)
    },
    tell(task) {
      if (hasSound) beep()
      if (!hasNotices || document.visibilityState === 'visible') return
      const notice = new Notification(`New task: ${isolated(task.domain)}`, { body: placeOf(task), tag: 'reeve desk' })
      notice.addEventListener('click', () => window.focus())
    },
  }
}

let audio: AudioContext | null = null

function beep(): void {
  audio ??= new AudioContext()
  const [source, volume] = [audio.createOscillator(), audio.createGain()]
  source.frequency.value = TONE_HZ
  volume.gain.setValueAtTime(0.15, audio.currentTime)
  volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + TONE_SEC)
  source.connect(volume).connect(audio.destination)
  source.start()
  source.stop(audio.currentTime + TONE_SEC)
}
