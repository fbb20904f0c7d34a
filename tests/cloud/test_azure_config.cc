// What checkpoint_storage may say of Azure, and the signature that follows from it.
#include "core/base/json.h"
#include "core/base/text/base64.h"
#include "core/cloud/azure/azure_config.h"
#include "core/cloud/azure/azure_credentials.h"
#include "core/cloud/batch.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"

namespace {

using namespace det;
using namespace det::cloud;

constexpr const char *the_key = "c2VjcmV0LWtleQ==";

void connection_strings_are_read_in_every_form(void **) {
  const std::string key = std::string("AccountKey=") + the_key;
  ConnectionString read = parse_connection_string("AccountName=name;" + key);
  assert_equal(read.endpoint, std::string("https://name.blob.core.windows.net"));
  assert_equal(read.account, std::string("name"));
  assert_equal(read.account_key, std::string(the_key));
  read = parse_connection_string("defaultendpointsprotocol=http; ;ACCOUNTNAME=name;" + key +
                                 ";EndpointSuffix=core.chinacloudapi.cn;");
  assert_equal(read.endpoint, std::string("http://name.blob.core.chinacloudapi.cn"));
  read = parse_connection_string(
      "BlobEndpoint=https://host/;SharedAccessSignature=sv=1&sig=a%3D=;QueueEndpoint=q");
  assert_equal(read.endpoint, std::string("https://host/"));
  assert_equal(read.sas, std::string("sv=1&sig=a%3D="));
  assert_true(read.account_key.empty());
  read = parse_connection_string("UseDevelopmentStorage=true");
  assert_equal(read.endpoint, std::string("http://127.0.0.1:10000/devstoreaccount1"));
  assert_equal(read.account, std::string("devstoreaccount1"));
  for (const std::string &text :
       {std::string("nonsense"), std::string("=x"), key, key + ";BlobEndpoint=https://host",
        "AccountName=name;DefaultEndpointsProtocol=ftp;" + key}) {
    const std::string message = expect_error(Code::invalid, [&] { parse_connection_string(text); });
    assert_false(contains(message, the_key));
  }
}

void urls_say_account_container_and_token(void **) {
  struct {
    const char *url, *endpoint, *account, *container, *folder, *sas;
  } table[] = {
      {"https://name.blob.core.windows.net", "https://name.blob.core.windows.net", "name", "", "",
       ""},
      {"https://name.blob.core.windows.net/?sv=1&sig=x", "https://name.blob.core.windows.net",
       "name", "", "", "sv=1&sig=x"},
      {"https://name-secondary.blob.core.windows.net/c/a//b/?sig=x#f",
       "https://name-secondary.blob.core.windows.net", "name", "c", "a/b/", "sig=x"},
      {"http://127.0.0.1:10000/name", "http://127.0.0.1:10000/name", "name", "", "", ""},
      {"http://azurite:10000/name/c", "http://azurite:10000/name", "name", "c", "", ""},
      {"https://[::1]:1/name/", "https://[::1]:1/name", "name", "", "", ""},
      {"https://blobs.example.org/c", "https://blobs.example.org", "", "c", "", ""},
  };
  for (const auto &row : table) {
    const AzureAddress read = azure_address(row.url);
    assert_equal(read.endpoint, std::string(row.endpoint));
    assert_equal(read.account, std::string(row.account));
    assert_equal(read.container, std::string(row.container));
    assert_equal(read.folder, std::string(row.folder));
    assert_equal(read.sas, std::string(row.sas));
  }
  for (const char *url : {"", "name.blob.core.windows.net", "https://", "https://u:p@host/",
                          "http://127.0.0.1:10000", "ftp://host"})
    expect_error(Code::invalid, [&] { azure_address(url); });
}

void tokens_are_told_from_keys(void **) {
  for (const char *token : {"?sv=2020&sig=x", "sv=2020&se=1&sig=x", "sig=x&sv=1"})
    assert_true(is_sas_token(token));
  for (const char *key : {the_key, "c2ln", "sig1/+==", ""}) assert_false(is_sas_token(key));
}

void config_is_checked_as_a_whole(void **) {
  const auto read = [](const char *text) { return azure_config(parse_json(text, "test")); };
  const AzureConfig config = read(
      R"({"type": "azure", "container": "c/a/./b/", "account_url": "https://n.blob.x.y",
          "credential": "?sv=1&sig=x", "connection_string": null, "save_trial_best": 1})");
  assert_equal(config.address.container, std::string("c"));
  assert_equal(config.address.folder, std::string("a/b/"));
  assert_equal(config.address.sas, std::string("sv=1&sig=x"));
  assert_true(config.account_key.empty());
  assert_true(config.makes_container);
  const std::pair<const char *, const char *> refused[] = {
      {R"({"type": "azure", "container": "c"})", "exactly one"},
      {R"({"type": "azure", "account_url": "https://n.blob.x"})", "'container'"},
      {R"({"type": "azure", "container": "", "account_url": "https://n.blob.x"})", "'container'"},
      {R"({"type": "azure", "container": "/c", "account_url": "https://n.blob.x"})", "'/'"},
      {R"({"type": "azure", "container": "c/..", "account_url": "https://n.blob.x"})", "'..'"},
      {R"({"type": "azure", "container": 1, "account_url": "https://n.blob.x"})", "a string"},
      {R"({"type": "azure", "container": "c", "account_url": "https://n.blob.x", "x": 1})", "'x'"},
      {R"({"type": "azure", "container": "c", "account_url": "https://n.blob.x",
           "connection_string": "AccountName=a"})",
       "exactly one"},
      {R"({"type": "azure", "container": "c", "credential": "c2VjcmV0LWtleQ==",
           "connection_string": "AccountName=a"})",
       "'credential'"},
      {R"({"type": "azure", "container": "c", "account_url": "https://n.blob.x",
           "credential": "no! base64"})",
       "neither"},
      {R"({"type": "azure", "container": "c", "account_url": "https://own.example.org",
           "credential": "c2VjcmV0LWtleQ=="})",
       "'account_name'"},
      {R"({"type": "azure", "container": "c", "account_url": "https://n.blob.x",
           "customer_key": "c2hvcnQ="})",
       "32 bytes"},
  };
  for (const auto &[text, reason] : refused) {
    const std::string message = expect_error(Code::invalid, [&, given = text] { read(given); });
    assert_true(contains(message, reason));
    assert_false(contains(message, the_key));
  }
}

void environment_may_have_the_credential_of_this_account(void **) {
  const Json config{
      {"type", "azure"}, {"container", "c"}, {"account_url", "https://name.blob.core.windows.net"}};
  const std::string string = std::string("AccountName=name;AccountKey=") + the_key;
  setenv("AZURE_STORAGE_CONNECTION_STRING", string.c_str(), 1);
  assert_equal(azure_config(config).account_key, *from_base64(the_key));
  setenv("AZURE_STORAGE_CONNECTION_STRING", ("AccountName=other;" + string.substr(17)).c_str(), 1);
  assert_true(azure_config(config).account_key.empty());
  unsetenv("AZURE_STORAGE_CONNECTION_STRING");
  setenv("AZURE_STORAGE_SAS_TOKEN", "sv=1&sig=x", 1);
  assert_true(azure_config(config).address.sas.empty());
  setenv("AZURE_STORAGE_ACCOUNT", "name", 1);
  assert_equal(azure_config(config).address.sas, std::string("sv=1&sig=x"));
  setenv("AZURE_STORAGE_KEY", the_key, 1);
  assert_equal(azure_config(config).account_key, *from_base64(the_key));
  for (const char *name : {"AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY"})
    unsetenv(name);
}

void what_is_kept_has_no_credentials(void **) {
  Json config{{"type", "azure"},
              {"container", "c/dir"},
              {"connection_string", std::string("AccountName=name;AccountKey=") + the_key},
              {"customer_key", to_base64(std::string(32, 'k'))},
              {"access_tier", "Cool"}};
  assert_equal(azure_without_credentials(config),
               (Json{{"type", "azure"},
                     {"container", "c/dir"},
                     {"access_tier", "Cool"},
                     {"account_url", "https://name.blob.core.windows.net"}}));
  config = {{"type", "azure"},
            {"container", "dir"},
            {"account_url", "https://name.blob.core.windows.net/c?sv=1&sig=x"},
            {"credential", nullptr}};
  config = azure_without_credentials(config);
  assert_equal(config["account_url"], Json("https://name.blob.core.windows.net/c"));
  assert_equal(azure_config(config).address.folder, std::string("dir/"));
}

// As the documentation of the service writes it out, and with a key of this test.
void shared_key_signs_what_the_service_signs(void **) {
  http::HttpRequest request{
      .method = "GET",
      .url =
          "https://myaccount.blob.core.windows.net/mycontainer?restype=container&comp=metadata&"
          "timeout=20",
      .headers = {{"x-ms-version", "2015-02-21"}, {"x-ms-date", "Fri, 26 Jun 2015 23:39:12 GMT"}}};
  assert_equal(shared_key_text(request, "myaccount", 0),
               std::string("GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\n"
                           "x-ms-version:2015-02-21\n/myaccount/mycontainer\ncomp:metadata\n"
                           "restype:container\ntimeout:20"));
  assert_equal(shared_key_authorization(request, "myaccount", *from_base64(the_key)),
               std::string("SharedKey myaccount:yVBA8agU+TP0/zaoct99pAn9ZdZ8GEQjlsPmkaqV71I="));
  request.method = "PUT";
  request.url = "http://127.0.0.1:1/name/c/a%20b?comp=block&blockid=YQ%3D%3D";
  request.body = "bytes";
  request.headers = {{"Content-MD5", "sum"},
                     {"If-Match", "\"e\""},
                     {"X-Ms-Date", "d"},
                     {"Content-Type", "t"},
                     {"Range", "bytes=0-1"}};
  assert_equal(shared_key_text(request, "name", 5),
               std::string("PUT\n\n\n5\nsum\nt\n\n\n\"e\"\n\n\nbytes=0-1\nx-ms-date:d\n"
                           "/name/name/c/a%20b\nblockid:YQ==\ncomp:block"));
}

// Parts come in any order, and from some servers without '\\r'.
void batch_is_answered_part_by_part(void **) {
  http::HttpRequest request{
      .method = "DELETE", .url = "https://h/c/a%20b?sig=x", .headers = {{"x-ms-date", "d"}}};
  assert_equal(batch_body("b", {request}),
               std::string("--b\r\nContent-Type: application/http\r\n"
                           "Content-Transfer-Encoding: binary\r\nContent-ID: 0\r\n\r\n"
                           "DELETE /c/a%20b?sig=x HTTP/1.1\r\nx-ms-date: d\r\n"
                           "Content-Length: 0\r\n\r\n--b--\r\n"));
  http::HttpResponse answer;
  answer.status = 202;
  answer.content_type = "multipart/mixed; boundary=\"r\"";
  const std::string first =
                        "--r\r\nContent-Type: application/http\r\nContent-ID: 1\r\n\r\n"
                        "HTTP/1.1 202 Accepted\r\nx-ms-version: 1\r\n\r\n",
                    second =
                        "--r\nContent-ID: 0\n\nHTTP/1.1 404 The blob\nx-ms-error-code: "
                        "BlobNotFound\n\n<Error/>\n",
                    end = "--r--\r\n";
  answer.body = first + second + end;
  const auto answers = batch_answers(answer, 2);
  assert_int_equal(answers[0].status, 404);
  assert_equal(answers[0].header("x-ms-error-code"), std::string("BlobNotFound"));
  assert_int_equal(answers[1].status, 202);
  // One that stands for all.
  answer.body = "--r\r\n\r\nHTTP/1.1 503 Busy\r\n\r\n" + end;
  assert_int_equal(batch_answers(answer, 2)[1].status, 503);
  for (const std::string &body :
       {std::string(), first, first + end, first + "--r\r\n\r\nHTTP\r\n\r\n" + end,
        first + "--r\r\nContent-ID: x\r\n\r\n" + end, first + "--r" + end}) {
    answer.body = body;
    expect_error(Code::corrupt, [&] { batch_answers(answer, 2); });
  }
  for (size_t cut = 0; cut < first.size() + second.size(); ++cut) {
    answer.body = (first + second).substr(0, cut);
    expect_error(Code::corrupt, [&] { batch_answers(answer, 2); });
  }
}

}  // namespace

int test_azure_config() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(connection_strings_are_read_in_every_form),
      cmocka_unit_test(urls_say_account_container_and_token),
      cmocka_unit_test(tokens_are_told_from_keys),
      cmocka_unit_test(config_is_checked_as_a_whole),
      cmocka_unit_test(environment_may_have_the_credential_of_this_account),
      cmocka_unit_test(what_is_kept_has_no_credentials),
      cmocka_unit_test(shared_key_signs_what_the_service_signs),
      cmocka_unit_test(batch_is_answered_part_by_part),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
