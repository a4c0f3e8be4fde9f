import { Fragment, type ReactNode } from "react";
import { toggleLanguage, toggleTheme } from "../app/preferences";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { Logo } from "./Logo";

/** The buttons that change the theme and the language. */
export function Switches() {
  const word = words(useStudio((s) => s.language));
  const theme = useStudio((s) => s.theme);
  return (
    <>
      <button type="button" className="button" onClick={toggleTheme}>
        {theme === "dark" ? word.light : word.dark}
      </button>
      <button type="button" className="button" onClick={toggleLanguage}>
        {word.language}
      </button>
    </>
  );
}

interface PageBarProps {
  /** The name of the page, and the pages above it below the start screen. */
  title: string;
  above?: readonly { title: string; href: string }[];
  /** What stands beside the name, and what stands at the other end. */
  status?: ReactNode;
  children?: ReactNode;
}

/** The head of a page that is about no single drawing. */
export function PageBar({ title, above = [], status, children }: PageBarProps) {
  const word = words(useStudio((s) => s.language));
  return (
    <header id="top">
      <a className="logo" href="#/" aria-label={`inkcap, ${word.startScreen}`}>
        <Logo />
        inkcap
      </a>
      <nav className="crumbs" aria-label={title}>
        {[{ title: word.startScreen, href: "#/" }, ...above].map((page) => (
          <Fragment key={page.href}>
            <a href={page.href}>{page.title}</a>
            <i>/</i>
          </Fragment>
        ))}
        <b>{title}</b>
      </nav>
      {status}
      <span className="grow" />
      {children}
      <Switches />
    </header>
  );
}
