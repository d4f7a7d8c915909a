/** `Menu` and `MenuItem`: kept as data, clickable by code, never drawn. */

export interface MenuItemOptions {
  readonly id?: string
  readonly label?: string
  readonly role?: string
  readonly type?: string
  readonly enabled?: boolean
  readonly accelerator?: string
  readonly submenu?: readonly MenuItemOptions[]
  click?(item: MenuItem, window: unknown, event: unknown): void
}

/** What items with a role do; the launcher fills in those that act. */
export const roleActions = new Map<string, () => void>()

export class MenuItem {
  readonly id: string
  readonly label: string
  readonly role: string | undefined
  readonly type: string
  enabled: boolean
  readonly accelerator: string | undefined
  readonly submenu: Menu | undefined
  private readonly options: MenuItemOptions

  constructor(options: MenuItemOptions) {
    this.options = options
    this.id = options.id ?? ''
    this.label = options.label ?? ''
    this.role = options.role
    this.type = options.type ?? (options.submenu ? 'submenu' : 'normal')
    this.enabled = options.enabled ?? true
    this.accelerator = options.accelerator
    this.submenu = options.submenu ? Menu.buildFromTemplate(options.submenu) : undefined
  }

  click(event: unknown = {}, window?: unknown): void {
    if (!this.enabled) return
    if (this.options.click) this.options.click(this, window, event)
    else if (this.role !== undefined) roleActions.get(this.role)?.()
  }
}

export class Menu {
  readonly items: MenuItem[] = []
  private static applicationMenu: Menu | null = null

  static buildFromTemplate(template: readonly MenuItemOptions[]): Menu {
    const menu = new Menu()
    menu.items.push(...template.map((options) => new MenuItem(options)))
    return menu
  }

  static setApplicationMenu(menu: Menu | null): void { Menu.applicationMenu = menu }

  static getApplicationMenu(): Menu | null { return Menu.applicationMenu }

  getMenuItemById(id: string): MenuItem | null {
    for (const item of this.items) {
      const found = item.id === id ? item : item.submenu?.getMenuItemById(id)
      if (found) return found
    }
    return null
  }
}
