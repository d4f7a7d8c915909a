/**
 * Every colour of the window, per theme. Names that start with `color` are Fluent theme tokens that override Fluent's own; the others are
 * ours (`npu...`, chart, syntax) and become CSS variables on the same provider (`var(--npuReady)`, `var(--c1)`), portals included.
 * `contrast.test.ts` measures them.
 */
import type { BrandVariants } from '@fluentui/react-components'

export type ThemeName = 'light' | 'dark' | 'contrast'

export const brandRamp: BrandVariants = {
  10: '#061229', 20: '#07193e', 30: '#082256', 40: '#082b6f', 50: '#08348a', 60: '#0d40a4', 70: '#164fbe', 80: '#245fd4',
  90: '#3972e1', 100: '#5185e9', 110: '#6c9aef', 120: '#88aef4', 130: '#a3c2f9', 140: '#bdd4fb', 150: '#d5e4fe', 160: '#e9f1fe',
}

const neutralDark = {
  colorNeutralBackground4: '#0a0e13', colorNeutralBackground3: '#0f141a', colorNeutralBackground2: '#12181f', colorNeutralBackground1: '#171e26',
  colorNeutralBackground1Hover: '#1f2832', colorNeutralBackground1Pressed: '#25303c', colorNeutralBackground1Selected: '#1c2c47',
  colorNeutralBackground5: '#25303c', colorSubtleBackgroundHover: '#1f2832', colorSubtleBackgroundPressed: '#25303c', colorSubtleBackgroundSelected: '#1c2c47',
  colorNeutralStroke1: '#34404e', colorNeutralStroke1Hover: '#4a5868', colorNeutralStroke1Pressed: '#4a5868', colorNeutralStroke2: '#26303b',
  colorNeutralStrokeAccessible: '#7b8897', colorNeutralStrokeAccessibleHover: '#94a0ae',
  colorNeutralForeground1: '#e9eef4', colorNeutralForeground1Hover: '#e9eef4', colorNeutralForeground1Pressed: '#e9eef4',
  colorNeutralForeground2: '#bcc6d2', colorNeutralForeground2Hover: '#e9eef4', colorNeutralForeground2Pressed: '#e9eef4',
  colorNeutralForeground3: '#94a0ae', colorNeutralForeground4: '#94a0ae', colorNeutralForegroundDisabled: '#5d6875',
  colorBrandForeground1: '#7fabf6', colorBrandForeground2: '#7fabf6', colorBrandForegroundLink: '#7fabf6', colorBrandForegroundLinkHover: '#a3c2f9', colorBrandForegroundLinkPressed: '#a3c2f9',
  colorBrandBackground: brandRamp[80], colorBrandBackgroundHover: brandRamp[70], colorBrandBackgroundPressed: brandRamp[60],
  colorCompoundBrandBackground: brandRamp[110], colorCompoundBrandBackgroundHover: brandRamp[120], colorCompoundBrandForeground1: '#7fabf6', colorCompoundBrandStroke: brandRamp[110],
  colorNeutralForegroundOnBrand: '#ffffff', colorStrokeFocus2: '#ffffff', colorStrokeFocus1: '#000000',
}

const neutralLight: typeof neutralDark = {
  colorNeutralBackground4: '#e6ebf1', colorNeutralBackground3: '#f2f5f8', colorNeutralBackground2: '#f8fafb', colorNeutralBackground1: '#ffffff',
  colorNeutralBackground1Hover: '#eff3f7', colorNeutralBackground1Pressed: '#e3e8ee', colorNeutralBackground1Selected: '#e6effd',
  colorNeutralBackground5: '#e3e8ee', colorSubtleBackgroundHover: '#eff3f7', colorSubtleBackgroundPressed: '#e3e8ee', colorSubtleBackgroundSelected: '#e6effd',
  colorNeutralStroke1: '#cdd5de', colorNeutralStroke1Hover: '#a9b4c0', colorNeutralStroke1Pressed: '#a9b4c0', colorNeutralStroke2: '#e2e7ed',
  colorNeutralStrokeAccessible: '#616d7a', colorNeutralStrokeAccessibleHover: '#3d4855',
  colorNeutralForeground1: '#17202a', colorNeutralForeground1Hover: '#17202a', colorNeutralForeground1Pressed: '#17202a',
  colorNeutralForeground2: '#3d4855', colorNeutralForeground2Hover: '#17202a', colorNeutralForeground2Pressed: '#17202a',
  colorNeutralForeground3: '#596573', colorNeutralForeground4: '#596573', colorNeutralForegroundDisabled: '#a4adb8',
  colorBrandForeground1: brandRamp[70], colorBrandForeground2: brandRamp[70], colorBrandForegroundLink: brandRamp[70], colorBrandForegroundLinkHover: brandRamp[60], colorBrandForegroundLinkPressed: brandRamp[60],
  colorBrandBackground: brandRamp[80], colorBrandBackgroundHover: brandRamp[70], colorBrandBackgroundPressed: brandRamp[60],
  colorCompoundBrandBackground: brandRamp[80], colorCompoundBrandBackgroundHover: brandRamp[70], colorCompoundBrandForeground1: brandRamp[70], colorCompoundBrandStroke: brandRamp[80],
  colorNeutralForegroundOnBrand: '#ffffff', colorStrokeFocus2: '#000000', colorStrokeFocus1: '#ffffff',
}

/** Tokens of our own. State colours are text-safe on every surface; `c1`...`c8` are line colours, never text. */
export interface NpuTokens {
  readonly npuReady: string; readonly npuLoading: string; readonly npuFailed: string
  readonly npuUnloaded: string; readonly npuDegraded: string; readonly npuSimulated: string
  readonly npuReadyBg: string; readonly npuLoadingBg: string; readonly npuFailedBg: string
  readonly npuUnloadedBg: string; readonly npuDegradedBg: string; readonly npuSimulatedBg: string
  /** Fill of a selected row, tab or chip (black in high contrast, where selection is an outline). */
  readonly npuSelectedBg: string
  /** Width of the selection outline: 2px in high contrast, 0 elsewhere. */
  readonly npuSelectedOutline: string
  readonly npuHoverBg: string
  readonly c1: string; readonly c2: string; readonly c3: string; readonly c4: string
  readonly c5: string; readonly c6: string; readonly c7: string; readonly c8: string
  readonly npuGrid: string; readonly npuAxis: string; readonly npuShadow: string
  readonly synKey: string; readonly synStr: string; readonly synNum: string; readonly synEnum: string; readonly synCom: string
}

const npuDark: NpuTokens = {
  npuReady: '#4cc38a', npuLoading: '#7fb2ff', npuFailed: '#ff8178', npuUnloaded: '#98a4b1', npuDegraded: '#f2b13c', npuSimulated: '#cba6ff',
  npuReadyBg: '#10291e', npuLoadingBg: '#14263f', npuFailedBg: '#371a1b', npuUnloadedBg: '#222b35', npuDegradedBg: '#32260f', npuSimulatedBg: '#291f3d',
  npuSelectedBg: '#1c2c47', npuSelectedOutline: '0px', npuHoverBg: '#1f2832',
  c1: '#55a1fe', c2: '#ed7f1f', c3: '#4ff4c0', c4: '#cb4565', c5: '#f0d731', c6: '#b8c2fe', c7: '#3b7ec0', c8: '#d2a09a',
  npuGrid: '#222b35', npuAxis: '#94a0ae', npuShadow: '0 8px 28px rgba(0,0,0,.5)',
  synKey: '#8ab8ff', synStr: '#7fd6b0', synNum: '#f0b56a', synEnum: '#cba6ff', synCom: '#8494a3',
}

const npuLight: NpuTokens = {
  npuReady: '#0d7544', npuLoading: '#1d5bc9', npuFailed: '#bb261c', npuUnloaded: '#596573', npuDegraded: '#895600', npuSimulated: '#7634c4',
  npuReadyBg: '#e4f5ec', npuLoadingBg: '#e6effd', npuFailedBg: '#fdebe9', npuUnloadedBg: '#edf0f4', npuDegradedBg: '#fdf2da', npuSimulatedBg: '#f3eafd',
  npuSelectedBg: '#e6effd', npuSelectedOutline: '0px', npuHoverBg: '#eff3f7',
  c1: '#2c3a9e', c2: '#cc7531', c3: '#069a8d', c4: '#70005d', c5: '#463d01', c6: '#a370de', c7: '#217187', c8: '#ae4a00',
  npuGrid: '#e8ecf1', npuAxis: '#596573', npuShadow: '0 8px 28px rgba(23,32,42,.16)',
  synKey: '#164fbe', synStr: '#0d7544', synNum: '#9a4d00', synEnum: '#7634c4', synCom: '#5f6b78',
}

const npuContrast: NpuTokens = {
  npuReady: '#6dff9e', npuLoading: '#1aebff', npuFailed: '#ff9d96', npuUnloaded: '#ffffff', npuDegraded: '#ffd75e', npuSimulated: '#e3c4ff',
  npuReadyBg: '#000000', npuLoadingBg: '#000000', npuFailedBg: '#000000', npuUnloadedBg: '#000000', npuDegradedBg: '#000000', npuSimulatedBg: '#000000',
  npuSelectedBg: '#000000', npuSelectedOutline: '2px', npuHoverBg: '#000000',
  c1: '#8ab0ff', c2: '#ee8608', c3: '#6deead', c4: '#ce4c8b', c5: '#ded527', c6: '#f9f9fe', c7: '#4790cc', c8: '#c59e91',
  npuGrid: '#5c5c5c', npuAxis: '#ffffff', npuShadow: 'none',
  synKey: '#ffff00', synStr: '#6dff9e', synNum: '#ffd75e', synEnum: '#e3c4ff', synCom: '#ffffff',
}

export const neutralTokens: Readonly<Record<Exclude<ThemeName, 'contrast'>, typeof neutralDark>> = { dark: neutralDark, light: neutralLight }
export const npuTokens: Readonly<Record<ThemeName, NpuTokens>> = { dark: npuDark, light: npuLight, contrast: npuContrast }
