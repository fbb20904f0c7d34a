#include "core/engine/sqlite/sqlite_dialect.h"

namespace det::engine {

const Dialect sqlite_dialect{
    .searcher_name = "json_quote(json_extract(config, '$.searcher.name'))",
    .searcher_metric_name = "json_quote(json_extract(config, '$.searcher.metric'))",
    .has_name = "(?2='' OR name GLOB ?2)",
    .has_tag = "(?3='' OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value=?3))",
    .is_metrics_json = "json_valid(metrics)",
    .is_batches_json = "json_valid(batches)",
    .metrics_by_trial = " INDEXED BY metrics_by_trial",
    .metric_names =
        "SELECT metric_group, name FROM (SELECT 0 AS age, metrics.id AS place, metric_group,"
        " key AS name FROM metrics INDEXED BY metrics_by_trial,"
        " json_each(CASE WHEN json_valid(metrics.metrics) THEN metrics.metrics ELSE '{}' END)"
        " WHERE trial_id=?1 AND archived=0 AND metrics.id<="
        " (SELECT CAST(value AS INTEGER) FROM meta WHERE key='last_unnamed_metric')"
        " UNION ALL SELECT 1, id, metric_group, name FROM metric_names WHERE trial_id=?1)"
        " GROUP BY metric_group, name ORDER BY MIN(age), MIN(place)",
    // Texts come behind numbers and blobs behind both, and NaN is NULL.
    .keep_best_validation =
        "UPDATE trials SET best_validation=?1, best_metric=?2, best_order=order_of"
        " FROM (SELECT CASE WHEN ?2 IS NULL THEN x'' ELSE IFNULL(?3, 'NaN') END AS order_of)"
        " WHERE id=?4 AND (best_validation IS NULL OR best_order>order_of)",
    .forget_best_validation =
        "UPDATE trials SET best_validation=NULL, best_metric=NULL, best_order=x'' WHERE id=?",
};

}  // namespace det::engine
