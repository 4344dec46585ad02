"""The pages for users: their programs run and print what the pages say."""

import pytest
from pages import ROOT, run_blocks

PAGES = ["docs/getting-started.md", *(f"docs/howto/{page.name}" for page in sorted((ROOT / "docs/howto").glob("*.md")))]


@pytest.mark.parametrize("page", PAGES)
def test_the_programs_of_a_page_print_what_it_says(page: str):
    run_blocks(page)
