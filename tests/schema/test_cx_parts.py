"""What the documents of customer intelligence say under their fixed keys has types beside the JSON (decision 989)."""

from __future__ import annotations

import pytest

from schema.cx_parts import look_of, signals_of
from storage.tables import CXReport, CXReportRevision, ResearchResult, ResearchRun
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

READ = """query($id: ID!) { researchResult(id: $id) {
  factors signals { key name weight score value unit finding evidenceUrl }
  cxReport { brand look { company colors { primary secondary accent } logo } } } }"""
SIGNALS = "query($id: ID!) { researchResult(id: $id) { signals { key } } }"
MEASURED = {
    "key": "response_time",
    "name": "Response time",
    "weight": 0.1,
    "score": 100,
    "value": 210.5,
    "unit": "milliseconds",
    "finding": "The first byte arrived after 210 ms.",
    "evidence_url": "https://kaffe.example/",
}
UNMEASURED = MEASURED | {"key": "mobile", "score": None, "value": None}


async def test_brand_and_factors_have_types(one: Tenant) -> None:
    run = ResearchRun(name="Run", status="completed", result_count=1)
    scored = {"status": "scored", "score": 61, "factors": [MEASURED, UNMEASURED]}
    result = ResearchResult(run_id=run.id, position=0, company_name="Kaffe", **scored)
    report = CXReport(result_id=result.id)
    brand = {"company": "Kaffe AG", "colors": {"primary": "#0B3D5C", "accent": "fa0"}}
    content = {"copy_blobs": {}, "analysis": {}, "brand": brand}
    await one.add(run, result, report, CXReportRevision(report_id=report.id, revision=1, **content))

    read = await one.ask(READ, id=result.id)

    assert read["factors"] == [MEASURED, UNMEASURED]
    renamed = [{**factor, "evidenceUrl": factor["evidence_url"]} for factor in (MEASURED, UNMEASURED)]
    assert read["signals"] == [{k: v for k, v in one.items() if k != "evidence_url"} for one in renamed]
    assert read["cxReport"]["brand"] == brand
    assert read["cxReport"]["look"] == {
        "company": "Kaffe AG",
        "colors": {"primary": "#0b3d5c", "secondary": None, "accent": "#ffaa00"},
        "logo": None,
    }
    assert await one.ask(SIGNALS, id=result.id) == {"signals": [{"key": "response_time"}, {"key": "mobile"}]}


async def test_a_result_that_is_not_scored_has_no_signals(one: Tenant) -> None:
    run = ResearchRun(name="Run", status="queued", result_count=1)
    result = ResearchResult(run_id=run.id, position=0, company_name="Kaffe")
    await one.add(run, result)
    assert await one.ask(SIGNALS, id=result.id) == {"signals": []}


async def test_what_is_of_another_shape_is_left_out() -> None:
    odd = look_of({"company": 5, "colors": {"primary": ["#fff"], "secondary": "blue"}, "logo": ""})
    assert (odd.company, odd.colors.primary, odd.colors.secondary, odd.logo) == (None, None, None, None)
    assert look_of({"colors": "#fff"}).colors.primary is None
    [signal] = signals_of(["x", {"key": 1, "weight": True, "score": 59.6, "value": "3"}])
    assert (signal.key, signal.weight, signal.score, signal.value) == (None, None, 60, None)
