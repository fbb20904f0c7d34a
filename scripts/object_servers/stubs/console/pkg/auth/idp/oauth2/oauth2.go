// Package oauth2 has how MinIO tells the console whom to trust.
package oauth2

type OpenIDPCfg map[string]ProviderConfig

type ProviderConfig struct {
	URL, DisplayName, ClientID, ClientSecret, HMACSalt, HMACPassphrase, Scopes string
	RedirectCallback, EndSessionEndpoint, RoleArn                              string
	Userinfo, RedirectCallbackDynamic                                          bool
}
